"""fedgrid: one tailored model for every node of a network of small, private datasets.

>>> import fedgrid as fg
>>> network = fg.Network.shape("ring", ["north", "east", "south", "west"])
>>> network
Network(4 nodes, 4 edges)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import callbacks, methods, models
from ._fedgrid import __version__
from ._network import Network
from .adapters import Estimator, Functions
from .comparison import Comparison, History
from ._figures import Figure, figures, reproduce
from ._sweep import SideBySide, Sweep, compare_runs, sweep
from .methods import *
from .models import *
from .run import ConvergenceWarning, Run

if TYPE_CHECKING:
    from . import federation
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
    if name in ("federation", "sklearn", "torch", "keras"):
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'fedgrid' has no attribute {name!r}")


__all__ = [
    "Comparison",
    "ConvergenceWarning",
    "Estimator",
    "FedRelaxClassifier",
    "FedRelaxRegressor",
    "Figure",
    "Functions",
    "History",
    "Network",
    "Run",
    "SideBySide",
    "Sweep",
    "__version__",
    "callbacks",
    "compare_runs",
    "federation",
    "figures",
    "reproduce",
    "sweep",
]
__all__ += methods.__all__
__all__ += models.__all__
