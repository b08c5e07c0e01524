"""PyTorch modules as local models: warm starts, some epochs per round, gradients for PersFL.

```python
fg.TorchModel(torch.nn.Linear(4, 1), epochs=20)
```
"""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ._frames import Floats
from .adapters import Adapter


class TorchModel:
    """A `torch.nn.Module` that maps rows of features to one number, or to one logit per class.

    Parameters
    ----------
    module
        The module, copied for every node and never changed; its weights are where nodes start.
    optimiser
        From parameters to an optimiser; by default Adam with a step of 0.01.
    loss
        From outputs and targets to one loss per row; by default the squared error, or the
        cross-entropy with class probabilities.
    epochs
        Passes over the rows in every fit. A fit goes on from the node's current weights.
    batch
        Rows per step; None is all of them.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        optimiser: Callable[[Any], torch.optim.Optimizer] | None = None,
        loss: Callable[[Any, Any], Any] | None = None,
        epochs: int = 20,
        batch: int | None = None,
    ) -> None:
        self.module = module
        self.optimiser = optimiser
        self.loss = loss
        self.epochs = epochs
        self.batch = batch

    def adapter(self, node: str, classes: npt.NDArray[Any] | None, seed: int) -> Adapter:
        """The adapter of one node."""
        return _TorchAdapter(self, node, classes, seed)


class _TorchAdapter(Adapter):
    warm = True
    parametric = True

    def __init__(
        self, model: TorchModel, node: str, classes: npt.NDArray[Any] | None, seed: int
    ) -> None:
        super().__init__(node, classes, seed)
        self.model = model
        self.kind = type(model.module).__name__
        self.family = id(model)

    def _tensors(self, module: Any, *arrays: Floats) -> list[Any]:
        first = next(iter(module.parameters()))
        return [torch.as_tensor(a, dtype=first.dtype, device=first.device) for a in arrays]

    def _rows(self, module: Any, X: Any, y: Any) -> Any:
        """The loss of each row."""
        outputs = module(X)
        if self.model.loss is not None:
            return self.model.loss(outputs, y).reshape(len(X), -1).sum(dim=1)
        if self.classes is None:
            return (outputs.reshape(-1) - y) ** 2
        return torch.nn.functional.cross_entropy(outputs, y, reduction="none")

    def fit(self, X: Floats, y: Floats, weights: Floats, current: Any) -> Any:
        module = copy.deepcopy(self.model.module if current is None else current)
        module.train()
        made = self.model.optimiser or (lambda p: torch.optim.Adam(p, lr=0.01))
        optimiser = made(module.parameters())
        inputs, targets, shares = self._tensors(module, X, y, weights / weights.sum())
        size = int(self.model.batch or len(X))
        order = torch.Generator().manual_seed(self.seed)
        for _ in range(self.model.epochs):
            rows = torch.randperm(len(X), generator=order) if size < len(X) else torch.arange(len(X))
            for batch in rows.split(size):
                optimiser.zero_grad()
                part = self._rows(module, inputs[batch], targets[batch])
                ((shares[batch] * part).sum() / shares[batch].sum()).backward()
                optimiser.step()
        return module

    def dump(self, fitted: Any) -> bytes:
        # Tensors only, without code.
        file = io.BytesIO()
        torch.save(fitted.state_dict(), file)
        return file.getvalue()

    def load(self, stored: bytes) -> Any:
        module = copy.deepcopy(self.model.module)
        module.load_state_dict(torch.load(io.BytesIO(stored), weights_only=True))
        return module

    def raw(self, fitted: Any, X: Floats) -> Any:
        fitted.eval()
        with torch.no_grad():
            outputs = fitted(self._tensors(fitted, X)[0])
            if self.classes is not None:
                outputs = torch.softmax(outputs, dim=1)
            return outputs.cpu().numpy()

    # Weights and gradients ----------------------------------------------------------------------

    def _at(self, weights: Any) -> Any:
        module = copy.deepcopy(self.model.module)
        parameters = list(module.parameters())
        flat = torch.as_tensor(np.asarray(weights), dtype=parameters[0].dtype)
        torch.nn.utils.vector_to_parameters(flat.to(parameters[0].device), parameters)
        return module

    def size(self, columns: int) -> int:
        """How many weights there are."""
        return sum(p.numel() for p in self.model.module.parameters())

    def start(self, columns: int) -> Floats:
        """The weights of the module as it was given."""
        return self.weights(self.model.module)

    def weights(self, fitted: Any) -> Floats:
        """All weights in one row."""
        flat = torch.nn.utils.parameters_to_vector(fitted.parameters())
        return np.asarray(flat.detach().cpu().numpy(), dtype=np.float64)

    def hypothesis(self, weights: Any) -> Any:
        """The module of given weights."""
        return self._at(weights)

    def _loss(self, module: Any, X: Floats, y: Floats, weights: Floats) -> Any:
        inputs, targets, shares = self._tensors(module, X, y, weights)
        return (shares * self._rows(module, inputs, targets)).sum()

    def loss(self, X: Floats, y: Floats, weights: Floats, at: Any) -> float:
        """The weighted loss."""
        with torch.no_grad():
            return float(self._loss(self._at(at), X, y, weights))

    def gradient(self, X: Floats, y: Floats, weights: Floats, at: Any) -> Floats:
        """The gradient of the weighted loss."""
        module = self._at(at)
        parts = torch.autograd.grad(self._loss(module, X, y, weights), list(module.parameters()))
        flat = torch.cat([part.reshape(-1) for part in parts])
        return np.asarray(flat.cpu().numpy(), dtype=np.float64)

    def proximal(self, X: Floats, y: Floats, weights: Floats, centre: Any, step: float) -> Floats:
        """The minimiser of the loss near given weights, by L-BFGS."""
        module = self._at(centre)
        near = [p.detach().clone() for p in module.parameters()]
        precision = torch.finfo(near[0].dtype).eps
        optimiser = torch.optim.LBFGS(
            module.parameters(), max_iter=100, tolerance_grad=precision**0.75,
            tolerance_change=precision, line_search_fn="strong_wolfe",
        )  # fmt: skip

        def closure() -> Any:
            optimiser.zero_grad()
            pull = sum(((p - q) ** 2).sum() for p, q in zip(module.parameters(), near))
            total = self._loss(module, X, y, weights) + pull / (2.0 * step)
            total.backward()
            return total

        optimiser.step(closure)
        return self.weights(module)
