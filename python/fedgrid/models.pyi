"""Written by tools/python_stubs.py."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ._model import Model

__all__ = ["Model", "Linear", "ElasticNet", "Huber", "Quantile", "Poisson", "Logistic", "GraphicalLasso", "Tree", "Forest", "ExtraTrees", "Boosting", "Neighbours", "KernelRidge", "Smoother", "Perceptron", "Constant"]

class Linear(Model):
    """Least squares with a ridge."""

    ridge: float | Literal["auto"] | None
    intercept: bool | None
    def __init__(self, ridge: float | Literal["auto"] | None = 'auto', intercept: bool | None = True) -> None: ...


class ElasticNet(Model):
    """Least squares with a ridge and a lasso."""

    ridge: float | Literal["auto"] | None
    lasso: float | None
    intercept: bool | None
    def __init__(self, ridge: float | Literal["auto"] | None = 'auto', lasso: float | None = 0.01, intercept: bool | None = True) -> None: ...


class Huber(Model):
    """Linear, with large errors counting less."""

    threshold: float | None
    ridge: float | Literal["auto"] | None
    intercept: bool | None
    def __init__(self, threshold: float | None = 1.35, ridge: float | Literal["auto"] | None = 'auto', intercept: bool | None = True) -> None: ...


class Quantile(Model):
    """Linear, for a quantile instead of the mean."""

    level: float | None
    ridge: float | Literal["auto"] | None
    intercept: bool | None
    def __init__(self, level: float | None = 0.5, ridge: float | Literal["auto"] | None = 'auto', intercept: bool | None = True) -> None: ...


class Poisson(Model):
    """Log-linear, for counts and rates."""

    ridge: float | Literal["auto"] | None
    intercept: bool | None
    def __init__(self, ridge: float | Literal["auto"] | None = 'auto', intercept: bool | None = True) -> None: ...


class Logistic(Model):
    """Logistic regression for classes."""

    ridge: float | Literal["auto"] | None
    lasso: float | None
    intercept: bool | None
    def __init__(self, ridge: float | Literal["auto"] | None = 'auto', lasso: float | None = 0.0, intercept: bool | None = True) -> None: ...


class GraphicalLasso(Model):
    """A Gaussian model of features and target together, most pairs independent given the others."""

    ridge: float | Literal["auto"] | None
    lasso: float | None
    intercept: bool | None
    def __init__(self, ridge: float | Literal["auto"] | None = 'auto', lasso: float | None = 0.01, intercept: bool | None = True) -> None: ...


class Tree(Model):
    """A decision tree."""

    max_depth: int | None
    min_leaf_weight: float | None
    def __init__(self, max_depth: int | None = 5, min_leaf_weight: float | None = 0.0) -> None: ...


class Forest(Model):
    """A random forest."""

    trees: int | None
    max_depth: int | None
    min_leaf_weight: float | None
    features_tried: float | None
    def __init__(self, trees: int | None = 100, max_depth: int | None = 64, min_leaf_weight: float | None = 0.0, features_tried: float | None = None) -> None: ...


class ExtraTrees(Model):
    """A forest with random thresholds."""

    trees: int | None
    max_depth: int | None
    min_leaf_weight: float | None
    features_tried: float | None
    def __init__(self, trees: int | None = 100, max_depth: int | None = 64, min_leaf_weight: float | None = 0.0, features_tried: float | None = None) -> None: ...


class Boosting(Model):
    """Gradient boosting."""

    trees: int | None
    rate: float | None
    max_depth: int | None
    min_leaf_weight: float | None
    subsample: float | None
    def __init__(self, trees: int | None = 100, rate: float | None = 0.1, max_depth: int | None = 3, min_leaf_weight: float | None = 0.0, subsample: float | None = 1.0) -> None: ...


class Neighbours(Model):
    """Nearest neighbours."""

    k: int | None
    by_distance: bool | None
    def __init__(self, k: int | None = 5, by_distance: bool | None = False) -> None: ...


class KernelRidge(Model):
    """Kernel ridge regression."""

    kernel: Literal["gaussian", "laplace", "polynomial"] | None
    width: float | None
    degree: int | None
    ridge: float | Literal["auto"] | None
    intercept: bool | None
    def __init__(self, kernel: Literal["gaussian", "laplace", "polynomial"] | None = 'gaussian', width: float | None = 0.0, degree: int | None = 2, ridge: float | Literal["auto"] | None = 'auto', intercept: bool | None = True) -> None: ...


class Smoother(Model):
    """A kernel smoother (Nadaraya–Watson)."""

    kernel: Literal["gaussian", "laplace"] | None
    width: float | None
    def __init__(self, kernel: Literal["gaussian", "laplace"] | None = 'gaussian', width: float | None = 0.0) -> None: ...


class Perceptron(Model):
    """A neural network: multi-layer perceptron."""

    layers: Sequence[int] | None
    activation: Literal["relu", "tanh"] | None
    optimiser: Literal["adam", "rmsprop", "plain"] | None
    step_size: float | None
    epochs: int | None
    batch: int | None
    patience: int | None
    held_back: float | None
    ridge: float | Literal["auto"] | None
    def __init__(self, layers: Sequence[int] | None = (16,), activation: Literal["relu", "tanh"] | None = 'tanh', optimiser: Literal["adam", "rmsprop", "plain"] | None = 'adam', step_size: float | None = 0.01, epochs: int | None = 1000, batch: int | None = 0, patience: int | None = 50, held_back: float | None = 0.0, ridge: float | Literal["auto"] | None = 'auto') -> None: ...


class Constant(Model):
    """The mean."""

