"""Methods that users know by name, as rivals to compare with or as methods themselves.

All but `FedMD` average weights, so that nodes need models of one size with a gradient: linear,
elastic-net, huber, quantile, poisson, logistic, graphical lasso or perceptron. Only `Gossip` needs a network. `alpha` is
the strength that each has, and "auto" chooses it on validation rows. The rivals also stand beside the
network in its own comparison: `FedRelax(baselines=["fedavg", "ditto"])`, or ["all"]. `Local`, `Pooled`
and `Shrunk` are rows of every comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from ._network import Network
from ._rows import rows
from ._study import Prepared
from .methods import Method, Strong


@dataclass(eq=False, repr=False, kw_only=True)
class Baseline(Strong):
    """A rival. `rounds` counts iterations of the hub, `local_steps` the steps of nodes in each."""

    participation: float | None = None
    averaging: str | None = None
    local_steps: int | None = None
    restarts: int | None = None
    tolerance: float | None = None

    def prepare(self, data: Any, target: Any = None, **options: Any) -> Prepared:
        """The study of these rows; without a network, the nodes are those with rows."""
        if self.kind != "gossip":
            options = _with_network(data, target, options)
        return super().prepare(data, target, **options)


def _with_network(data: Any, target: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options of `fit`; without a network, with the nodes that have rows and no edges."""
    if options.get("network") is not None:
        return options
    found = rows(data, target, *(options.get(name) for name in ("node", "features", "split"))).found
    return {**options, "network": Network(found)}


@dataclass(eq=False, repr=False)
class Plain(Method):
    """A method without a network of which every comparison has a row.

    It trains what that row has, so that a verdict which advises it can be followed. `model` is one model
    for all, or a dict from node to model, with `...` for all others.
    """

    model: Any = None
    _: KW_ONLY
    weighting: str | None = None
    shuffles: int = 5
    baselines: Sequence[str] = ()
    random_state: int | None = None
    n_jobs: int | None = None

    def prepare(self, data: Any, target: Any = None, **options: Any) -> Prepared:
        """The study of these rows; without a network, the nodes are those with rows."""
        return super().prepare(data, target, **_with_network(data, target, options))


class Local(Plain):
    """Every node alone.

    >>> import fedgrid as fg
    >>> rows = {"a": ([[1.0], [2.0]], [1.0, 2.0]), "b": ([[1.0], [2.0]], [3.0, 6.0])}
    >>> run = fg.Local(fg.Linear(ridge=0.0, intercept=False)).fit(rows)
    >>> [float(run.predict({node: [[1.0]]})[node][0].round(2)) for node in rows]
    [1.0, 3.0]
    """

    kind = "local"


class Pooled(Plain):
    """One model for all.

    >>> import fedgrid as fg
    >>> rows = {"a": ([[1.0], [2.0]], [1.0, 2.0]), "b": ([[1.0], [2.0]], [3.0, 6.0])}
    >>> run = fg.Pooled(fg.Linear(ridge=0.0, intercept=False)).fit(rows)
    >>> [float(run.predict({node: [[1.0]]})[node][0].round(2)) for node in rows]
    [2.0, 2.0]
    """

    kind = "pooled"


@dataclass(eq=False, repr=False, kw_only=True)
class Shrunk(Strong):
    """Every node pulled by alpha to the pooled model's predictions on public points.

    >>> import fedgrid as fg
    >>> rows = {"a": ([[1.0], [2.0]], [1.0, 2.0]), "b": ([[1.0], [2.0]], [3.0, 6.0])}
    >>> run = fg.Shrunk(1e9, fg.Linear(ridge=0.0, intercept=False)).fit(rows)
    >>> [float(run.predict({node: [[1.0]]})[node][0].round(2)) for node in rows]
    [2.0, 2.0]
    """

    kind = "shrunk"
    couple_intercept: bool | None = None
    solver: str | None = None
    tolerance: float | None = None

    def prepare(self, data: Any, target: Any = None, **options: Any) -> Prepared:
        """The study of these rows; without a network, the nodes are those with rows."""
        return super().prepare(data, target, **_with_network(data, target, options))


class FedAvg(Baseline):
    """One model for all, averaged at a hub; alpha is a factor of the step size.

    >>> import fedgrid as fg
    >>> rows = {"a": ([[1.0], [2.0]], [1.0, 2.0]), "b": ([[1.0], [2.0]], [3.0, 6.0])}
    >>> run = fg.FedAvg(1.0, fg.Linear(ridge=0.0, intercept=False)).fit(rows)
    >>> [float(run.predict({node: [[1.0]]})[node][0].round(3)) for node in rows]
    [2.0, 2.0]
    """

    kind = "fedavg"


class FedProx(Baseline):
    """FedAvg with local steps pulled to the hub's model by alpha.

    >>> import fedgrid as fg
    >>> rows = {"a": ([[1.0], [2.0]], [1.0, 2.0]), "b": ([[1.0], [2.0]], [3.0, 6.0])}
    >>> run = fg.FedProx(0.1, fg.Linear(ridge=0.0, intercept=False)).fit(rows)
    >>> [float(run.predict({node: [[1.0]]})[node][0].round(2)) for node in rows]
    [2.0, 2.0]
    """

    kind = "fedprox"


class Ditto(Baseline):
    """A model of its own for every node, pulled to the common one by alpha.

    >>> import fedgrid as fg
    >>> rows = {"a": ([[1.0], [2.0]], [1.0, 2.0]), "b": ([[1.0], [2.0]], [3.0, 6.0])}
    >>> run = fg.Ditto(0.1, fg.Linear(ridge=0.0, intercept=False)).fit(rows)
    >>> [float(run.predict({node: [[1.0]]})[node][0].round(2)) for node in rows]
    [1.02, 2.98]
    """

    kind = "ditto"


class APFL(Baseline):
    """A mixture of the node's own model, of share alpha, and the common one.

    >>> import fedgrid as fg
    >>> rows = {"a": ([[1.0], [2.0]], [1.0, 2.0]), "b": ([[1.0], [2.0]], [3.0, 6.0])}
    >>> run = fg.APFL(0.5, fg.Linear(ridge=0.0, intercept=False)).fit(rows)
    >>> [float(run.predict({node: [[1.0]]})[node][0].round(2)) for node in rows]
    [1.47, 2.42]
    """

    kind = "apfl"


class IFCA(Baseline):
    """Models of alpha clusters; every node takes part in the one that suits it best.

    >>> import fedgrid as fg
    >>> rows = {"a": ([[1.0], [2.0]], [1.0, 2.0]), "b": ([[1.0], [2.0]], [3.0, 6.0])}
    >>> run = fg.IFCA(2, fg.Linear(ridge=0.0, intercept=False)).fit(rows)
    >>> [float(run.predict({node: [[1.0]]})[node][0].round(2)) for node in rows]
    [1.0, 3.0]
    """

    kind = "ifca"


class ClusteredFL(Baseline):
    """Nodes are split where their steps disagree, again and again; alpha is the threshold."""

    kind = "clustered"


class FineTuned(Baseline):
    """FedAvg, and then alpha steps alone.

    >>> import fedgrid as fg
    >>> rows = {"a": ([[1.0], [2.0]], [1.0, 2.0]), "b": ([[1.0], [2.0]], [3.0, 6.0])}
    >>> run = fg.FineTuned(5, fg.Linear(ridge=0.0, intercept=False)).fit(rows)
    >>> [float(run.predict({node: [[1.0]]})[node][0].round(2)) for node in rows]
    [1.0, 3.0]
    """

    kind = "fine-tuned"


class Gossip(Baseline):
    """Averaging with neighbours; alpha is a factor of the step size."""

    kind = "gossip"


class FedMD(Baseline):
    """Every node pulled by alpha to the mean prediction on public points; for any model.

    >>> import fedgrid as fg
    >>> rows = {"a": ([[1.0], [2.0]], [1.0, 2.0]), "b": ([[1.0], [2.0]], [3.0, 6.0])}
    >>> run = fg.FedMD(1.0, fg.Linear(ridge=0.0, intercept=False)).fit(rows)
    >>> [float(run.predict({node: [[1.0]]})[node][0].round(2)) for node in rows]
    [1.52, 2.48]
    """

    kind = "fedmd"
