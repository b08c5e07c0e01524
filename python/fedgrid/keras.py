"""Keras models as local models: warm starts and some epochs per round.

```python
fg.KerasModel(lambda: keras.Sequential([keras.layers.Dense(1)]), optimizer="adam", epochs=20)
```
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ._frames import Floats
from .adapters import Adapter


class KerasModel:
    """A Keras model that maps rows of features to one number, or to one probability per class.

    `build` makes the model, uncompiled or compiled; an uncompiled one is compiled with `optimizer`
    and the squared error, or the categorical cross-entropy. A fit goes on from the node's current
    weights for `epochs` passes.
    """

    def __init__(
        self,
        build: Callable[[], Any],
        optimizer: Any = "adam",
        epochs: int = 20,
        batch: int = 32,
    ) -> None:
        self.build = build
        self.optimizer = optimizer
        self.epochs = epochs
        self.batch = batch

    def adapter(self, node: str, classes: npt.NDArray[Any] | None, seed: int) -> Adapter:
        """The adapter of one node."""
        return _KerasAdapter(self, node, classes, seed)


class _KerasAdapter(Adapter):
    warm = True

    def __init__(
        self, model: KerasModel, node: str, classes: npt.NDArray[Any] | None, seed: int
    ) -> None:
        super().__init__(node, classes, seed)
        self.model = model
        self.kind = "Keras"
        self.family = id(model)

    def fit(self, X: Floats, y: Floats, weights: Floats, current: Any) -> Any:
        model = self.model.build()
        if getattr(model, "optimizer", None) is None:
            loss = "mse" if self.classes is None else "categorical_crossentropy"
            model.compile(optimizer=self.model.optimizer, loss=loss)
        if current is not None:
            model(X[:1])  # weights exist once the model has seen a row
            model.set_weights(current.get_weights())
        shares = weights * (len(weights) / weights.sum())
        model.fit(
            X, y, sample_weight=shares, epochs=self.model.epochs, batch_size=self.model.batch,
            verbose=0, shuffle=False,
        )  # fmt: skip
        return model

    def raw(self, fitted: Any, X: Floats) -> Any:
        found = np.asarray(fitted.predict(X, verbose=0))
        return found
