"""Methods around a hub that users know by name, as rivals to compare with.

They average weights, so that all nodes need models of one size with a gradient: linear, elastic-net,
huber, quantile, poisson, logistic, perceptron, or a torch module. No network is needed.
"""

from __future__ import annotations

import inspect
import json
from typing import Any

from . import _fedgrid as native
from ._network import Network
from ._rows import rows
from ._study import Prepared, prepare
from .methods import Method
from .run import Run


class Hub(Method):
    """A method around a hub: `steps` of size `step` (by default suited to the curvature) at the nodes
    that take part in each of at most `iterations`."""

    #: The names of its own strength and count, where it has them.
    _own: tuple[str | None, str | None] = (None, None)

    def __init__(
        self,
        model: Any = None,
        *,
        steps: int = 5,
        step: float | None = None,
        participation: float = 1.0,
        iterations: int = 500,
        tolerance: float = 1e-6,
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.model = model
        self.steps = steps
        self.step = step
        self.participation = participation
        self.iterations = iterations
        self.tolerance = tolerance
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def _names(cls) -> list[str]:
        own = inspect.signature(cls.__init__).parameters.values()
        named = [p.name for p in own if p.kind is not inspect.Parameter.VAR_KEYWORD][1:]
        usual = list(inspect.signature(Hub.__init__).parameters)[1:]
        return list(dict.fromkeys(named + usual))

    def prepare(self, data: Any, target: Any = None, **options: Any) -> Prepared:
        """The study of these rows; without a network, the nodes are those with rows."""
        if options.get("network") is None:
            names = ("node", "features", "split")
            found = rows(data, target, *(options.get(name) for name in names)).found
            options["network"] = Network(found)
        seed = 1 if self.random_state is None else int(self.random_state)
        return prepare({"alpha": 0.0}, self.model, data, target, seed=seed, **options)

    def _train(self, run: Run) -> None:
        names = ("steps", "step", "participation", "iterations", "tolerance")
        strength, count = self._own
        keys = {name: getattr(self, name) for name in names} | {
            "kind": self.kind,
            "seed": 0 if self.random_state is None else int(self.random_state),
            "strength": None if strength is None else getattr(self, strength),
            "count": None if count is None else getattr(self, count),
        }
        run._take(native.hub(run._study, json.dumps(keys), run._work.how("average")), None, None)


class FedAvg(Hub):
    """One model for all, averaged at a hub.

    >>> import fedgrid as fg
    >>> rows = {"a": ([[1.0], [2.0]], [1.0, 2.0]), "b": ([[1.0], [2.0]], [3.0, 6.0])}
    >>> run = fg.FedAvg(model=fg.Linear(ridge=0.0, intercept=False)).fit(rows)
    >>> [float(run.predict({node: [[1.0]]})[node][0].round(3)) for node in rows]
    [2.0, 2.0]
    """

    kind = "fedavg"


class FedProx(Hub):
    """FedAvg with local steps pulled to the hub's model by `pull`; zero is FedAvg."""

    kind = "fedprox"
    _own = ("pull", None)

    def __init__(self, model: Any = None, pull: float = 1.0, **keys: Any) -> None:
        super().__init__(model, **keys)
        self.pull = pull


class Ditto(Hub):
    """A model of its own for every node, pulled to the common one by `pull`."""

    kind = "ditto"
    _own = ("pull", None)

    def __init__(self, model: Any = None, pull: float = 1.0, **keys: Any) -> None:
        super().__init__(model, **keys)
        self.pull = pull


class APFL(Hub):
    """A mixture of the node's own model and the common one, of which `mixture` is its own."""

    kind = "apfl"
    _own = ("mixture", None)

    def __init__(self, model: Any = None, mixture: float = 0.5, **keys: Any) -> None:
        super().__init__(model, **keys)
        self.mixture = mixture


class IFCA(Hub):
    """Models of several clusters; every node takes part in the one that suits it best."""

    kind = "ifca"
    _own = (None, "clusters")

    def __init__(self, model: Any = None, clusters: int = 2, **keys: Any) -> None:
        super().__init__(model, **keys)
        self.clusters = clusters


class ClusteredFL(Hub):
    """Nodes are split where their steps disagree, again and again."""

    kind = "clustered-fl"


class FineTuned(Hub):
    """FedAvg, and then some steps alone."""

    kind = "fine-tuned"
    _own = (None, "last_steps")

    def __init__(self, model: Any = None, last_steps: int = 10, **keys: Any) -> None:
        super().__init__(model, **keys)
        self.last_steps = last_steps
