"""Keras models as local models: warm starts and some epochs per round.

```python
fg.KerasModel(lambda: keras.Sequential([keras.layers.Dense(1)]), optimizer="adam", epochs=20)
```
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ._frames import Floats
from .adapters import Adapter


class KerasModel:
    """A Keras model that maps rows of features to one number, or to one probability per class.

    `build` makes the model, uncompiled or compiled; an uncompiled one is compiled with `optimizer`
    and the squared error, or the categorical cross-entropy. Nodes start from the weights that it has
    then. A fit goes on from the node's current weights for `epochs` passes, with a fresh optimizer. What
    is learnt at a node (`run.models_[node]`) has its `weights`, and its `model()`.
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
        self._bench: _Bench | None = None
        self._lock = threading.Lock()

    def adapter(self, node: str, classes: npt.NDArray[Any] | None, seed: int) -> Adapter:
        """The adapter of one node."""
        return _KerasAdapter(self, node, classes, seed)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_bench": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()


class FittedKeras:
    """What a node has learnt: the weights of its Keras model."""

    def __init__(self, build: Callable[[], Any], columns: int, weights: list[Any]) -> None:
        self._build = build
        self._columns = columns
        self.weights = weights

    def model(self) -> Any:
        """A Keras model of its own with these weights."""
        model = _built(self._build, self._columns)
        model.set_weights(self.weights)
        return model


def _built(build: Callable[[], Any], columns: int) -> Any:
    model = build()
    model(np.zeros((1, columns)))  # weights exist once a model has seen a row
    return model


class _Bench:
    """One model on which all nodes are trained in turn: Keras compiles a model for seconds and fits a
    few rows in milliseconds."""

    def __init__(self, model: KerasModel, columns: int, classes: bool) -> None:
        self.use = (columns, classes)
        self.model = _built(model.build, columns)
        if getattr(self.model, "optimizer", None) is None:
            optimizer = model.optimizer
            if hasattr(optimizer, "get_config"):  # one that has been used belongs to its model
                optimizer = type(optimizer).from_config(optimizer.get_config())
            loss = "categorical_crossentropy" if classes else "mse"
            self.model.compile(optimizer=optimizer, loss=loss)
        self.model.optimizer.build(self.model.trainable_variables)
        variables = [*self.model.variables, *self.model.optimizer.variables]
        self._start = [(variable, variable.numpy()) for variable in variables]

    def reset(self, weights: list[Any] | None) -> Any:
        """The model as it was built, with other weights if there are any."""
        for variable, value in self._start:
            variable.assign(value)
        if weights is not None:
            self.model.set_weights(weights)
        return self.model


class _KerasAdapter(Adapter):
    warm = True

    def __init__(
        self, model: KerasModel, node: str, classes: npt.NDArray[Any] | None, seed: int
    ) -> None:
        super().__init__(node, classes, seed)
        self.model = model
        self.kind = "Keras"
        self.family = id(model)

    def _at(self, columns: int, weights: list[Any] | None) -> Any:
        """The common model at given weights; its lock must be held."""
        use = (columns, self.classes is not None)
        if self.model._bench is None or self.model._bench.use != use:
            self.model._bench = _Bench(self.model, *use)
        return self.model._bench.reset(weights)

    def fit(self, X: Floats, y: Floats, weights: Floats, current: Any) -> Any:
        shares = weights * (len(weights) / weights.sum())
        with self.model._lock:
            model = self._at(X.shape[1], None if current is None else current.weights)
            model.fit(
                X, y, sample_weight=shares, epochs=self.model.epochs, batch_size=self.model.batch,
                verbose=0, shuffle=False,
            )  # fmt: skip
            learnt = model.get_weights()
        return FittedKeras(self.model.build, X.shape[1], learnt)

    def dump(self, fitted: Any) -> bytes:
        # Arrays only, without code.
        file = io.BytesIO()
        np.savez(file, np.array(fitted._columns), *fitted.weights)
        return file.getvalue()

    def load(self, stored: bytes) -> Any:
        with np.load(io.BytesIO(stored), allow_pickle=False) as arrays:
            columns, *weights = [arrays[f"arr_{index}"] for index in range(len(arrays.files))]
        return FittedKeras(self.model.build, int(columns), weights)

    def raw(self, fitted: Any, X: Floats) -> Any:
        with self.model._lock:
            return np.asarray(self._at(X.shape[1], fitted.weights).predict_on_batch(X))
