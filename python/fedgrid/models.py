"""The built-in local models: what a node can train without leaving Rust.

Each is a small class of keyword arguments; the same keys stand in an experiment file. A `ridge` of
"auto" is chosen on validation rows.
"""

from __future__ import annotations

from typing import Any

from ._params import Params


class Model(Params):
    """A built-in model."""

    #: Its name in an experiment file.
    kind = ""

    def keys(self) -> dict[str, Any]:
        """The keys of an experiment file that mean this model."""
        given = {name: value for name, value in self.get_params().items() if value is not None}
        return {"kind": self.kind, **given}


class Linear(Model):
    """Least squares with a ridge."""

    kind = "linear"

    def __init__(self, ridge: float | str = "auto", intercept: bool = True) -> None:
        self.ridge = ridge
        self.intercept = intercept


class ElasticNet(Model):
    """Least squares with a ridge and a lasso."""

    kind = "elastic-net"

    def __init__(
        self, ridge: float | str = "auto", lasso: float | None = None, intercept: bool = True
    ) -> None:
        self.ridge = ridge
        self.lasso = lasso
        self.intercept = intercept


class Huber(Model):
    """Linear, with errors beyond a threshold counting less."""

    kind = "huber"

    def __init__(
        self, threshold: float | None = None, ridge: float | str = "auto", intercept: bool = True
    ) -> None:
        self.threshold = threshold
        self.ridge = ridge
        self.intercept = intercept


class Quantile(Model):
    """Linear, for a quantile instead of the mean."""

    kind = "quantile"

    def __init__(
        self, level: float = 0.5, ridge: float | str = "auto", intercept: bool = True
    ) -> None:
        self.level = level
        self.ridge = ridge
        self.intercept = intercept


class Poisson(Model):
    """Log-linear, for counts and rates."""

    kind = "poisson"

    def __init__(self, ridge: float | str = "auto", intercept: bool = True) -> None:
        self.ridge = ridge
        self.intercept = intercept


class Logistic(Model):
    """Logistic regression for classes."""

    kind = "logistic"

    def __init__(
        self, ridge: float | str = "auto", lasso: float = 0.0, intercept: bool = True
    ) -> None:
        self.ridge = ridge
        self.lasso = lasso
        self.intercept = intercept


class Tree(Model):
    """A decision tree."""

    kind = "tree"

    def __init__(self, max_depth: int = 5, min_leaf_weight: float = 0.0) -> None:
        self.max_depth = max_depth
        self.min_leaf_weight = min_leaf_weight


class Forest(Model):
    """A random forest."""

    kind = "forest"

    def __init__(
        self,
        trees: int | None = None,
        max_depth: int | None = None,
        min_leaf_weight: float = 0.0,
        features_tried: float | None = None,
    ) -> None:
        self.trees = trees
        self.max_depth = max_depth
        self.min_leaf_weight = min_leaf_weight
        self.features_tried = features_tried


class ExtraTrees(Forest):
    """A forest with random thresholds."""

    kind = "extra-trees"


class Boosting(Model):
    """Gradient boosting."""

    kind = "boosting"

    def __init__(
        self,
        trees: int | None = None,
        rate: float | None = None,
        max_depth: int | None = None,
        min_leaf_weight: float = 0.0,
        subsample: float | None = None,
    ) -> None:
        self.trees = trees
        self.rate = rate
        self.max_depth = max_depth
        self.min_leaf_weight = min_leaf_weight
        self.subsample = subsample


class Neighbours(Model):
    """Nearest neighbours."""

    kind = "neighbours"

    def __init__(self, k: int | None = None, by_distance: bool = False) -> None:
        self.k = k
        self.by_distance = by_distance


class KernelRidge(Model):
    """Kernel ridge regression; a width of zero is taken from the rows."""

    kind = "kernel-ridge"

    def __init__(
        self,
        kernel: str = "gaussian",
        width: float = 0.0,
        degree: int = 2,
        ridge: float | str = "auto",
        intercept: bool = True,
    ) -> None:
        self.kernel = kernel
        self.width = width
        self.degree = degree
        self.ridge = ridge
        self.intercept = intercept


class Smoother(Model):
    """A kernel smoother (Nadaraya–Watson)."""

    kind = "smoother"

    def __init__(self, kernel: str = "gaussian", width: float = 0.0, degree: int = 2) -> None:
        self.kernel = kernel
        self.width = width
        self.degree = degree


class Perceptron(Model):
    """A neural network: multi-layer perceptron."""

    kind = "perceptron"

    def __init__(
        self,
        layers: list[int] | None = None,
        activation: str = "tanh",
        optimiser: str = "adam",
        step_size: float | None = None,
        epochs: int | None = None,
        batch: int | None = None,
        ridge: float | str = "auto",
    ) -> None:
        self.layers = layers
        self.activation = activation
        self.optimiser = optimiser
        self.step_size = step_size
        self.epochs = epochs
        self.batch = batch
        self.ridge = ridge


class Constant(Model):
    """The mean."""

    kind = "constant"

    def __init__(self) -> None:
        pass


__all__ = [
    "Boosting",
    "Constant",
    "ElasticNet",
    "ExtraTrees",
    "Forest",
    "Huber",
    "KernelRidge",
    "Linear",
    "Logistic",
    "Model",
    "Neighbours",
    "Perceptron",
    "Poisson",
    "Quantile",
    "Smoother",
    "Tree",
]
