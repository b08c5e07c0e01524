"""fedgrid: one tailored model for every node of a network of small, private datasets.

>>> import fedgrid as fg
>>> network = fg.Network.shape("ring", ["north", "east", "south", "west"])
>>> network
Network(4 nodes, 4 edges)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import callbacks
from ._fedgrid import __version__
from ._network import Network
from .adapters import Estimator, Functions
from .baselines import (
    APFL,
    IFCA,
    ClusteredFL,
    Ditto,
    FedAvg,
    FedMD,
    FedProx,
    FineTuned,
    Gossip,
    Local,
    Pooled,
    Shrunk,
)
from .comparison import Comparison, History
from ._figures import Figure, figures, reproduce
from .methods import GTV, FedRelax, Method, PersFL, learn_network
from .models import (
    Boosting,
    Constant,
    ElasticNet,
    ExtraTrees,
    Forest,
    GraphicalLasso,
    Huber,
    KernelRidge,
    Linear,
    Logistic,
    Model,
    Neighbours,
    Perceptron,
    Poisson,
    Quantile,
    Smoother,
    Tree,
)
from .run import ConvergenceWarning, Run

if TYPE_CHECKING:
    from .sklearn import FedRelaxClassifier, FedRelaxRegressor

#: What needs another library, by the module that imports it.
_LAZY = {
    "FedRelaxRegressor": "sklearn",
    "FedRelaxClassifier": "sklearn",
    "TorchModel": "torch",
    "KerasModel": "keras",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    if name in ("sklearn", "torch", "keras"):
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'fedgrid' has no attribute {name!r}")


__all__ = [
    "APFL",
    "Boosting",
    "ClusteredFL",
    "Comparison",
    "Constant",
    "ConvergenceWarning",
    "Ditto",
    "ElasticNet",
    "Estimator",
    "ExtraTrees",
    "FedAvg",
    "FedMD",
    "FedProx",
    "FedRelax",
    "FedRelaxClassifier",
    "FedRelaxRegressor",
    "Figure",
    "FineTuned",
    "Forest",
    "Functions",
    "GTV",
    "GraphicalLasso",
    "Gossip",
    "History",
    "Huber",
    "IFCA",
    "KernelRidge",
    "Linear",
    "Local",
    "Logistic",
    "Method",
    "Model",
    "Neighbours",
    "Network",
    "Perceptron",
    "PersFL",
    "Poisson",
    "Pooled",
    "Quantile",
    "Run",
    "Shrunk",
    "Smoother",
    "Tree",
    "__version__",
    "callbacks",
    "figures",
    "learn_network",
    "reproduce",
]
