"""What all methods do: they take rows, a network and models, and leave a run."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from . import _fedgrid as native
from ._frames import name_of
from ._kinds import kinds
from ._network import Network
from ._params import Params
from ._rows import rows
from ._study import Prepared, prepare
from ._work import Work
from .run import Run


class Facts(NamedTuple):
    """What must be known of a method before it runs."""

    strength: str | None
    uses_network: bool
    #: Whether nodes may ask everyone where there is no network.
    asks_everyone: bool


FACTS = {row[0]: Facts(*row[1:]) for row in native.methods()}
_NAMES = {kind.name: {key.name for key in kind.keys if key.lists_names} for kind in kinds("MethodSection")}


def whole(seed: Any) -> int:
    """A seed as a whole number; a generator would draw another one at every fit."""
    try:
        return operator.index(seed)
    except TypeError:
        raise TypeError(f"random_state is {seed!r}, expected a whole number or None") from None


class Method(Params):
    """A method by its name in an experiment file, with any of its keys; without a name the best of several.

    >>> import fedgrid as fg
    >>> fg.Method("gtv", penalty="norm").kind
    'gtv'
    """

    kind: str

    def __init__(
        self,
        kind: str = "auto",
        *,
        model: Any = None,
        shuffles: int = 5,
        likelihood_shuffles: int = 99,
        quick: bool = False,
        baselines: Sequence[str] = (),
        metric: str | None = None,
        random_state: int | None = None,
        n_jobs: int | None = None,
        **keys: Any,
    ) -> None:
        self.kind = kind
        self.model = model
        self.shuffles = shuffles
        self.likelihood_shuffles = likelihood_shuffles
        self.quick = quick
        self.baselines = baselines
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self._keys = list(keys)
        for name, value in keys.items():
            setattr(self, name, value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name."""
        own = {name: getattr(self, name) for name in getattr(self, "_keys", [])}
        return {**super().get_params(deep), **own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Earlier versions called every strength alpha.
        name = self._strength_name()
        if name not in (None, "alpha") and "alpha" in state and "_keys" not in state:
            state = dict(state)
            state.setdefault(name, state.pop("alpha"))
        super().__setstate__(state)

    def _strength_name(self, kind: str | None = None) -> str | None:
        """The key of the one number that validation rows may choose, of the method or of one that was chosen."""
        facts = FACTS.get(kind or self.kind)
        return None if facts is None else facts.strength

    def _method(self) -> dict[str, Any]:
        """The section of an experiment file."""
        given = {name: value for name, value in self.get_params().items() if value is not None}
        own = {name: value for name, value in given.items() if name not in COMMON}
        for name in _NAMES.get(self.kind, set()) & own.keys():
            own[name] = [name_of(node) for node in own[name]]
        return {"kind": self.kind, **own}

    def prepare(
        self,
        data: Any,
        target: Any = None,
        *,
        node: Any = None,
        network: Network | None = None,
        features: Sequence[Any] | None = None,
        split: Any = None,
        weight: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        exposure: Any = None,
        **options: Any,
    ) -> Prepared:
        """The study of these rows; the arguments are those of `fit`."""
        seed = 1 if self.random_state is None else whole(self.random_state)
        if weight is not None and sample_weight is not None:
            raise ValueError("weight and sample_weight are the same, expected one of them")
        weight = sample_weight if weight is None else weight
        time, lags = options.get("time"), options.get("lags")
        needed = [name for name in (time, *(lags or {})) if name is not None]
        read = rows(
            data, target, node, features, split, needed=needed, weight=weight, offset=offset, exposure=exposure
        )
        shuffles, facts = self.shuffles, FACTS.get(self.kind)
        if network is None and facts is not None:
            if facts.asks_everyone:
                # All nodes of a complete network are alike, so that shuffling says nothing.
                shuffles = 0
                network = Network.shape("complete", read.found) if len(read.found) > 1 else Network(read.found)
            elif not facts.uses_network:
                network = Network(read.found)
        return prepare(
            self._method(), self.model, read, network, shuffles=shuffles,
            likelihood_shuffles=self.likelihood_shuffles, quick=self.quick, baselines=self.baselines,
            metric=self.metric, seed=seed, **options,
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
        weight: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        exposure: Any = None,
        class_weights: Any = None,
        train: float | None = None,
        validation: float | None = None,
        folds: int = 5,
        public: Any = None,
        task: str | None = None,
        exclude: Sequence[Any] = (),
        columns: Mapping[Any, Any] | None = None,
        missing: str = "refuse",
        missing_values: Sequence[Any] = (),
        time: Any = None,
        lags: Mapping[Any, Any] | None = None,
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
            Who is whose neighbour. Nodes without rows learn from their neighbours. Methods around a hub need
            none, and those that ask others may ask everyone without one.
        features
            The columns to predict from, by name or with `*` and `?` for any letters; by default all but node,
            target and split. Text and pandas categories become one column of zeros and ones per level, booleans
            one and zero, dates days since the start and places in the year, week and day.
        split
            The column that says train, val or test, or how rows are divided by `time`, as an experiment file has
            it: {"by": "time", "train": 0.6, "validation": 0.2}, {"by": "time", "test_from": "2024-07-01"} or
            {"by": "time", "origins": 5, "horizon": 7}. Without one, `train` and `validation` are shares of each
            node's rows that are drawn; without these, rows take turns in `folds`.
        weight, sample_weight
            How many rows each one stands for: a column, or a number for every row (for each node, where rows are
            given so). A row of weight two counts as that row twice, in training and in errors. Models of your own
            get `sample_weight`.
        offset
            A known part of the target, added to what is learnt: to numbers, or to the logarithm of counts.
        exposure
            For models of counts: over how much each row has counted, such as days.
        class_weights
            For classes: "balanced", or how often the training rows of each class count, such as {"yes": 2.0}.
        public
            The points on which predictions are compared: a number of them, a table or array, or
            keys such as {"kind": "box", "points": 100}. By default normal draws with the means and
            covariances of all training features, a shared statistic: 500 for linear models and for trees
            and the like of classes, 100 for others.
        task
            "regression", "classification" or "auto"; by default as target and models tell: text and booleans are
            classes, and so are numbers to a classifier. Few whole numbers, such as 0 and 1, may be both: where no
            model says it they are refused, and "auto" takes them as classes.
        exclude
            Columns that are not used, by name or with `*` and `?`.
        columns
            How single columns are used: {"ward": "category", "note": "ignore"}, or keys as the section
            [data.columns] of an experiment file has them: {"ward": {"levels": ["a", "b"], "other": True}}.
        missing, missing_values
            What is done with missing cells ("refuse", "mean", "most-frequent", "indicator" or "drop"; means and
            values are those of training rows), and which cells stand for no value besides the usual ones.
        time, lags
            The column that orders rows in time, which is a feature only if it is listed or declared as one; and what
            is made of earlier values at the same node: {"sales": [1, 7]}, {"sales": {"lags": [7], "means": [28]}}.
        callbacks, progress
            Who hears of rounds and results, and whether a bar is shown.

        Built-in models are trained in units of their own: features are centred and scaled by their training
        rows and numbers are predicted in deviations of the target, so that no unit of a column changes a
        result; a strength or a ridge is in these units. Models of your own see rows as they are.

        A run that has not come as close as asked is warned of with a `ConvergenceWarning`.
        """
        begun = perf_counter()
        prepared = self.prepare(
            data, target, node=node, network=network, features=features, split=split, weight=weight,
            sample_weight=sample_weight, offset=offset, exposure=exposure, class_weights=class_weights,
            train=train, validation=validation, folds=folds, public=public, task=task, exclude=exclude, columns=columns,
            missing=missing, missing_values=missing_values, time=time, lags=lags,
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


#: The parameters that are no keys of the section of methods.
COMMON = [name for name in Method._names() if name != "kind"]
