"""How nodes learn together: FedRelax, total variation of weights (GTV), PersFL.

A method is a bundle of keyword arguments. Its `fit` gives a `Run`, which holds one model per node.
"""

from __future__ import annotations

import json
import operator
import time
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from . import _fedgrid as native
from ._frames import name_of
from ._network import Network
from ._params import Params
from ._plain import to_json
from ._rows import rows
from ._study import Prepared, prepare
from .run import Run, Work



def whole(seed: Any) -> int:
    """A seed as a whole number; a generator would draw another one at every fit."""
    try:
        return operator.index(seed)
    except TypeError:
        raise TypeError(f"random_state is {seed!r}, expected a whole number or None") from None


#: Keys of the method section that are not parameters of its own.
COMMON = ("model", "shuffles", "baselines", "random_state", "n_jobs")


class Method(Params):
    """A method by its name in an experiment file, with any of its keys.

    >>> import fedgrid as fg
    >>> fg.Method("gtv", penalty="norm").kind
    'gtv'
    """

    def __init__(
        self,
        kind: str,
        *,
        model: Any = None,
        shuffles: int = 5,
        baselines: Sequence[str] = (),
        random_state: int | None = None,
        n_jobs: int | None = None,
        **keys: Any,
    ) -> None:
        self.kind = kind
        self.model = model
        self.shuffles = shuffles
        self.baselines = baselines
        self.random_state = random_state
        self.n_jobs = n_jobs
        self._keys = list(keys)
        for name, value in keys.items():
            setattr(self, name, value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name."""
        own = {name: getattr(self, name) for name in getattr(self, "_keys", [])}
        return {**super().get_params(deep), **own}

    def set_params(self, **params: Any) -> Method:
        """Changes some parameters."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(
                    f"there is no parameter {name!r}, expected one of {list(self.get_params())}"
                )
            setattr(self, name, value)
        return self

    def _method(self) -> dict[str, Any]:
        own = {
            name: value
            for name, value in self.get_params().items()
            if name not in COMMON and value is not None
        }
        return {"kind": self.kind, **own}

    def prepare(self, data: Any, target: Any = None, **options: Any) -> Prepared:
        """The study of these rows; the arguments are those of `fit`."""
        seed = 1 if self.random_state is None else whole(self.random_state)
        return prepare(
            self._method(), self.model, data, target, shuffles=self.shuffles,
            baselines=self.baselines, seed=seed, **options,
        )  # fmt: skip

    def fit(
        self,
        data: Any,
        target: Any = None,
        *,
        node: Any = None,
        network: Network | None = None,
        features: Sequence[Any] | None = None,
        split: Any = None,
        train: float | None = None,
        validation: float | None = None,
        folds: int = 5,
        public: Any = None,
        task: str | None = None,
        standardise: bool = False,
        callbacks: Sequence[Any] = (),
        progress: bool | None = None,
    ) -> Run:
        """Trains one model for every node.

        Parameters
        ----------
        data
            A pandas, polars or pyarrow table, or a dict of columns, with one row per observation;
            or a dict of (X, y) for each node.
        target, node
            The columns that are predicted and that name each row's node.
        network
            Who is whose neighbour. Nodes without rows learn from their neighbours.
        features
            The columns to predict from; by default all numeric ones but node, target and split.
        split
            The column that says train, val or test. Without one, `train` and `validation` are
            shares of each node's rows that are drawn; without these, rows take turns in `folds`.
        public
            The points on which predictions are compared: a number of them, a table or array, or
            keys such as {"kind": "box", "points": 100}. By default 500 normal draws with the means
            and covariances of all training features, a shared statistic.
        task
            "regression" or "classification"; by default as target and models tell.
        callbacks, progress
            Who hears of rounds and results, and whether a bar is shown.

        A run that has not come as close as asked is warned of with a `ConvergenceWarning`.
        """
        begun = time.perf_counter()
        prepared = self.prepare(
            data, target, node=node, network=network, features=features, split=split, train=train,
            validation=validation, folds=folds, public=public, task=task, standardise=standardise,
        )  # fmt: skip
        work = Work(self.n_jobs, callbacks, progress)
        run = Run(prepared, self, work, begun)
        try:
            run._fit(*run._strength())
        finally:
            work.done()
        run._finish()
        run._warn()
        return run


@dataclass(eq=False, repr=False)
class Strong(Method):
    """A method with a strength, and the arguments that all of these have.

    `alpha` is the strength, or "auto" to choose it on validation rows. `model` is one model for all, or
    a dict from node to model, with `...` for all others. None is the usual value.
    """

    alpha: float | str = "auto"
    model: Any = None
    _: KW_ONLY
    weighting: str | None = None
    rounds: int | None = None
    shuffles: int = 5
    baselines: Sequence[str] = ()
    random_state: int | None = None
    n_jobs: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class FedRelax(Strong):
    """Every node refits its model, pulled towards its neighbours' predictions on public points.

    Any model may sit at any node. `alpha` ≥ 0 is the pull; "auto" chooses it on validation rows, and
    zero trains every node alone. `model` is one model for all, or a dict from node to model, with
    `...` for all others. The other arguments are the keys `[method]` of an experiment file.

    >>> import fedgrid as fg, numpy as np
    >>> x = np.array([[1.0], [1.0]])
    >>> rows = {"a": (x, [1.0, 1.0]), "b": (x, [3.0, 3.0])}
    >>> method = fg.FedRelax(alpha=1.0, model=fg.Linear(ridge=0.0, intercept=False))
    >>> run = method.fit(rows, network=fg.Network.shape("path", ["a", "b"]), public=[[-1.0], [1.0]])
    >>> run.predict({"a": [[1.0]], "b": [[1.0]]})["a"].round(6)  # minimises (w-1)²+(v-3)²+(w-v)²
    array([1.666667])
    """

    kind = "fedrelax"
    coupling: str | None = None
    couple_intercept: bool | None = None
    hub: float | None = None
    discrepancy: str | None = None
    threshold: float | None = None
    clip: float | None = None
    relaxation: float | None = None
    order: str | None = None
    step: str | None = None
    steps: int | None = None
    optimiser: str | None = None
    step_size: float | None = None
    distil_points: int | None = None
    solver: str | None = None
    tolerance: float | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class GTV(Strong):
    """The minimum of all losses and of the total variation of weights over the network.

    Models need weights of one size: linear, elastic-net, huber, quantile, poisson, logistic,
    graphical lasso or perceptron. `penalty` is "norm" (neighbours become equal: clusters),
    "squared-norm" or "one-norm". The run's `certificate_` bounds how far from the minimum it is.

    The other parameters are about rounds of messages (`solver="rounds"`), and any of them asks for
    them: `step` is "proximal", "inexact" (with the first `error`) or "gradient", `scale` and
    `relaxation` are one in the paper, `stop_on` is "gap", "residual" or "decrease", `radius` is a length
    that no weights exceed, and `paper_compat` does what the authors' code does.

    >>> import fedgrid as fg
    >>> rows = {"a": ([[1.0]], [1.0]), "b": ([[1.0]], [3.0])}
    >>> method = fg.GTV(10.0, fg.Linear(ridge=0.0, intercept=False), penalty="norm")
    >>> run = method.fit(rows, network=fg.Network.shape("path", ["a", "b"]))
    >>> run.clusters_, run.certificate_["kind"]  # so strong a pull makes both equal
    ({'a': 0, 'b': 0}, 'certified relative gap')
    """

    kind = "gtv"
    penalty: str | None = None
    couple_intercept: bool | None = None
    solver: str | None = None
    tolerance: float | None = None
    step: str | None = None
    error: float | None = None
    scale: float | None = None
    relaxation: float | None = None
    radius: float | None = None
    stop_on: str | None = None
    paper_compat: bool | None = None

    def _method(self) -> dict[str, Any]:
        keys = super()._method()
        names = ("step", "error", "scale", "relaxation", "radius", "stop_on", "paper_compat")
        own = {name: keys.pop(name) for name in names if name in keys}
        return {**keys, "gtv": own} if own else keys


@dataclass(eq=False, repr=False, kw_only=True)
class PersFL(Strong):
    """Every node asks others for a step and keeps the one that helps it most.

    `alpha` is the size of a step, "auto" to choose it, and `rounds` counts iterations. `probe` is
    "gradient" or "proximal" (models of weights) or "refit" (any model); `choice` is "uniform",
    "epsilon-greedy" or "ucb". Without a network every node may ask every other. The run's `tallies`
    say who was asked and what it was worth.

    With `own` a node may also draw itself. `targets` are the nodes that learn, by default all; the
    others only answer, keep models of their own rows and are not scored. `online` lets training rows
    come one in every iteration, in their order: {"batch": 10, "enough": 0} begins with the first ten,
    counts the last ten, and never waits until enough have come.

    >>> import fedgrid as fg
    >>> rows = {"a": ([[1.0], [2.0]], [1.0, 2.0]), "b": ([[1.0], [2.0]], [3.0, 6.0])}
    >>> run = fg.PersFL(0.05, fg.Linear(ridge=0.0, intercept=False), rounds=50).fit(rows)
    >>> {tally["candidate"] for tally in run.tallies if tally["target"] == "a"}
    {'b'}
    """

    kind = "persfl"
    probe: str = "gradient"
    candidates: int = 20
    choice: str = "uniform"
    epsilon: float = 0.1
    width: float = 1.0
    top: int = 1
    only_if_better: bool = False
    start: str = "zero"
    held: float = 0.0
    own: bool = False
    targets: Sequence[Any] | None = None
    online: Mapping[str, int] | None = None
    solver: str | None = None

    def _method(self) -> dict[str, Any]:
        keys = super()._method()
        names = ("probe", "candidates", "choice", "epsilon", "width", "top", "only_if_better", "start")
        own = {name: keys.pop(name) for name in (*names, "held", "own", "targets", "online") if name in keys}
        if "targets" in own:
            own["targets"] = [name_of(node) for node in own["targets"]]
        return {**keys, "persfl": own}

    def prepare(self, data: Any, target: Any = None, **options: Any) -> Prepared:
        """The study of these rows; without a network, everyone may ask everyone."""
        if options.get("network") is not None:
            return super().prepare(data, target, **options)
        names = ("node", "features", "split")
        found = rows(data, target, *(options.get(name) for name in names)).found
        options["network"] = Network.shape("complete", found) if len(found) > 1 else Network(found)
        # All places in it are alike, so that shuffling says nothing.
        return Method.prepare(self._unshuffled(), data, target, **options)

    def _unshuffled(self) -> PersFL:
        return PersFL(**{**self.get_params(), "shuffles": 0})


def learn_network(
    data: Any,
    target: Any = None,
    *,
    node: Any = None,
    model: Any = None,
    share: float = 0.1,
    neighbours: int = 8,
    phases: int = 8,
    iterations: int = 40,
    step: float | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    **options: Any,
) -> Network:
    """The network that probes suggest: who helps whom, from a share of all pairs.

    The other arguments are those of `FedRelax.fit`. The pairs that were probed, with their scores,
    are `network.pairs`.

    >>> import fedgrid as fg, numpy as np
    >>> draw = np.random.default_rng(0)
    >>> x, slopes = draw.normal(size=(8, 20, 2)), [[1, 2]] * 4 + [[-1, 3]] * 4
    >>> rows = {f"n{k}": (x[k], x[k] @ slopes[k] + 0.1 * draw.normal(size=20)) for k in range(8)}
    >>> sorted(fg.learn_network(rows, share=1.0).neighbours("n0"))
    ['n1', 'n2', 'n3']
    """
    prepared = PersFL(1.0, model).prepare(data, target, node=node, **options)
    keys = dict(
        share=share, neighbours=neighbours, phases=phases, iterations=iterations, step=step,
        seed=whole(random_state),
    )  # fmt: skip
    how = Work(n_jobs, (), None).how("learn")
    made, about = native.learn(prepared.study, to_json(keys), how)
    network = Network._of(made, prepared.network.nodes)
    network.pairs = json.loads(about)["pairs"]
    return network
