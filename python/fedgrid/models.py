"""The built-in local models: what a node can train without leaving Rust.

Each is a small class of keyword arguments; the same keys stand in an experiment file. A `ridge` of
"auto" is chosen on validation rows, and None is the usual value.

>>> import fedgrid as fg
>>> fg.Forest(trees=20)
Forest(trees=20)
"""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(eq=False, repr=False)
class Linear(Model):
    """Least squares with a ridge."""

    kind = "linear"
    ridge: float | str = "auto"
    intercept: bool = True


@dataclass(eq=False, repr=False)
class ElasticNet(Model):
    """Least squares with a ridge and a lasso."""

    kind = "elastic-net"
    ridge: float | str = "auto"
    lasso: float | None = None
    intercept: bool = True


@dataclass(eq=False, repr=False)
class Huber(Model):
    """Linear, with errors beyond a threshold counting less."""

    kind = "huber"
    threshold: float | None = None
    ridge: float | str = "auto"
    intercept: bool = True


@dataclass(eq=False, repr=False)
class Quantile(Model):
    """Linear, for a quantile instead of the mean."""

    kind = "quantile"
    level: float = 0.5
    ridge: float | str = "auto"
    intercept: bool = True


@dataclass(eq=False, repr=False)
class Poisson(Model):
    """Log-linear, for counts and rates."""

    kind = "poisson"
    ridge: float | str = "auto"
    intercept: bool = True


@dataclass(eq=False, repr=False)
class Logistic(Model):
    """Logistic regression for classes."""

    kind = "logistic"
    ridge: float | str = "auto"
    lasso: float = 0.0
    intercept: bool = True


@dataclass(eq=False, repr=False)
class GraphicalLasso(Model):
    """A Gaussian model of features and target together, most pairs independent given the others."""

    kind = "graphical-lasso"
    ridge: float | str = "auto"
    lasso: float | None = None
    intercept: bool = True


@dataclass(eq=False, repr=False)
class Tree(Model):
    """A decision tree."""

    kind = "tree"
    max_depth: int = 5
    min_leaf_weight: float = 0.0


@dataclass(eq=False, repr=False)
class Forest(Model):
    """A random forest."""

    kind = "forest"
    trees: int | None = None
    max_depth: int | None = None
    min_leaf_weight: float = 0.0
    features_tried: float | None = None


@dataclass(eq=False, repr=False)
class ExtraTrees(Forest):
    """A forest with random thresholds."""

    kind = "extra-trees"


@dataclass(eq=False, repr=False)
class Boosting(Model):
    """Gradient boosting."""

    kind = "boosting"
    trees: int | None = None
    rate: float | None = None
    max_depth: int | None = None
    min_leaf_weight: float = 0.0
    subsample: float | None = None


@dataclass(eq=False, repr=False)
class Neighbours(Model):
    """Nearest neighbours."""

    kind = "neighbours"
    k: int | None = None
    by_distance: bool = False


@dataclass(eq=False, repr=False)
class KernelRidge(Model):
    """Kernel ridge regression; a width of zero is taken from the rows."""

    kind = "kernel-ridge"
    kernel: str = "gaussian"
    width: float = 0.0
    degree: int = 2
    ridge: float | str = "auto"
    intercept: bool = True


@dataclass(eq=False, repr=False)
class Smoother(Model):
    """A kernel smoother (Nadaraya–Watson)."""

    kind = "smoother"
    kernel: str = "gaussian"
    width: float = 0.0
    degree: int = 2


@dataclass(eq=False, repr=False)
class Perceptron(Model):
    """A neural network: multi-layer perceptron.

    Training ends after `epochs`, or after `patience` epochs without gain (zero never). `held_back` is
    the share of a node's rows that do not train but tell when to stop; with none the training loss
    tells.
    """

    kind = "perceptron"
    layers: list[int] | None = None
    activation: str = "tanh"
    optimiser: str = "adam"
    step_size: float | None = None
    epochs: int | None = None
    batch: int | None = None
    patience: int | None = None
    held_back: float | None = None
    ridge: float | str = "auto"


@dataclass(eq=False, repr=False)
class Constant(Model):
    """The mean."""

    kind = "constant"


__all__ = [
    "Boosting",
    "Constant",
    "ElasticNet",
    "ExtraTrees",
    "Forest",
    "GraphicalLasso",
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
