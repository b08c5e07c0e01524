"""What a method leaves: one model per node, and the answer to whether the network helps."""

from __future__ import annotations

import html
import json
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _fedgrid as native
from ._frames import Floats, Handed, Table, coded, handed, is_column, is_table, matched, matrix, name_of, shown
from ._known import KnownPart
from ._plain import scalar
from ._rows import is_name
from ._study import Prepared
from .comparison import Comparison, History, html_notes

if TYPE_CHECKING:
    from .methods import Method

#: The format of pickled runs; a fedgrid reads its own and earlier ones.
FORMAT = 4


class ConvergenceWarning(UserWarning):
    """A run has not come as close to where it was going as was asked."""


class Predicted(NamedTuple):
    """Predictions with the ends of their intervals; not-a-number where a node has too few rows for one."""

    prediction: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]


class Work:
    """On how many threads work is done, and who hears of it."""

    def __init__(
        self, n_jobs: int | None, callbacks: Sequence[Any] = (), progress: bool | None = None
    ) -> None:
        n_jobs = scalar(n_jobs)
        if n_jobs is not None and (not isinstance(n_jobs, int) or n_jobs == 0):
            raise ValueError(f"n_jobs is {n_jobs!r}, expected a number of threads, or -1 for all")
        self.threads = 0 if n_jobs is None or n_jobs < 0 else int(n_jobs)
        self.callbacks = list(callbacks)
        self.progress = scalar(progress)
        self._bar: Any = None

    def how(self, what: str) -> dict[str, Any]:
        """What the native side needs to know."""
        return {"threads": self.threads, "listener": self._listener(what)}

    def quiet(self) -> dict[str, Any]:
        """The same without anybody listening."""
        return {"threads": self.threads, "listener": None}

    def _listener(self, what: str) -> Any:
        if self.progress is False and not self.callbacks:
            return None

        def hear(kind: str, said: str, count: int) -> None:
            if kind == "round":
                for callback in self.callbacks:
                    getattr(callback, "on_round", _nothing)(json.loads(said))
                self.show(f"{what}: round {count}")
            else:
                self.show(f"{said}: {count} settings tried")

        return hear

    def show(self, text: str, step: int = 0) -> None:
        """Moves the bar, if there is one."""
        if self.progress is False:
            return
        if self._bar is None:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                self.progress = False
                return
            # Without a terminal tqdm stays silent, unless it was asked for.
            self._bar = tqdm(total=None, disable=None if self.progress is None else False)
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(step)

    def done(self) -> None:
        """Closes the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _nothing(*_: Any) -> None:
    return None


def _limits(python: bool) -> AbstractContextManager[Any]:
    """Workers share the cores, so that libraries inside them must not take all of them again."""
    if not python:
        return nullcontext()
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(1, user_api="blas")
    return limits


class Run:
    """One model per node.

    Learnt things end with an underscore: `nodes_`, `strength_`, `ridge_`, `classes_`, `certificate_`,
    `clusters_`, `engine_`, `notes_`, `variances_`; `alpha_` is the strength of a method that pulls, `kind_` the method, which
    `Auto` chooses. `history` holds the rounds.

    >>> import fedgrid as fg
    >>> rows = {"a": ([[1.0], [2.0]], [1.0, 2.0]), "b": ([[1.0], [2.0]], [3.0, 6.0])}
    >>> model = fg.Linear(ridge=0.0, intercept=False)
    >>> run = fg.FedRelax(0.0, model).fit(rows, network=fg.Network(["a", "b"]))
    >>> run.predict({"b": [[5.0]]})["b"].round(6)
    array([15.])
    >>> round(run.models_["b"]["slopes"][0], 6)
    3.0
    """

    def __init__(self, prepared: Prepared, method: Method, work: Work, begun: float) -> None:
        self.method = method
        self.network = prepared.network
        self.nodes_: list[Any] = prepared.network.nodes
        self.classes_ = prepared.classes
        self.features_: list[str] = prepared.features
        self._sources: list[str] = prepared.sources
        #: The column of times, and those that lags are made of.
        self._lags: tuple[str, list[str]] | None = prepared.lags
        self.kind_: str = method.kind
        self.strength_: float | None = None
        self.ridge_: float | None = None
        self.seconds = 0.0
        self._node_name = prepared.node_name
        self._named = prepared.named
        self._python = prepared.python
        self._study: Any = prepared.study
        self._work = work
        self._begun = begun
        self._cards: dict[str, native.Card] = {}
        self._fitted: Any = None
        self._models: Any = None
        self._intervals: native.Intervals | None = None
        self._is_calibrated = False
        self._alone: Comparison | None = None
        self._compared: Comparison | None = None

    # Training -----------------------------------------------------------------------------------

    def _strength(self) -> tuple[float, float | None]:
        """The strength and the ridge of the run: as given, or as validation rows choose them, after the method."""
        with _limits(self._python):
            self.kind_ = self._study.choose(self._work.how("choose"))
        strength = self._study.given()
        if strength is not None:
            return strength, None
        return self._card(self._study.main()).strength()

    def _card(self, contestant: str) -> native.Card:
        if contestant not in self._cards:
            with _limits(self._python):
                card = self._study.card(contestant, self._work.how("tune"))
            self._cards[contestant] = card
            for callback in self._work.callbacks:
                getattr(callback, "on_card", _nothing)(card.plain())
        return self._cards[contestant]

    def _fit(self, strength: float, ridge: float | None) -> None:
        with _limits(self._python):
            fitted = self._study.fit(strength, ridge, self._work.how("fit"))
        self._fitted = fitted
        self._details: dict[str, Any] = json.loads(fitted.details)
        self._models = self._study.models(fitted)
        self._notes: list[str] = self._study.notes(fitted)
        # What a report needs, so that a pickled run can write one.
        self._experiment: str = self._study.text()
        self._helps: native.Helps = self._study.helps(fitted)
        estimated = self._details["strength"]
        found = strength if estimated is None else estimated
        self.strength_ = None if self._strength_name is None else found
        self._coefficients: native.Coefficients = self._study.coefficients(fitted)
        self._given = (strength, ridge)
        self.ridge_ = ridge

    def _calibrate(self) -> None:
        """Looks how far predictions are off on rows that the models have not seen."""
        if self._is_calibrated:
            return
        if self._study is None:
            raise RuntimeError(
                "a run that was pickled before intervals were asked for has none; call predict with "
                "interval=, or compare(), before it is pickled"
            )
        with _limits(self._python):
            how = self._work.quiet()
            self._fitted = self._study.calibrated(self._fitted, *self._given, how)
        self._intervals = self._study.intervals(self._fitted)
        self._is_calibrated = True

    def _finish(self) -> None:
        self.seconds = time.perf_counter() - self._begun
        for callback in self._work.callbacks:
            getattr(callback, "on_end", _nothing)(self)

    def _warn(self) -> None:
        """Says that the run has not converged, where its caller's code stands."""
        if self.converged_:
            return
        found, rounds = self.certificate_, len(self._details["rounds"])
        after = f" after {rounds} rounds; more rounds (rounds=) may help" if rounds else ""
        warnings.warn(
            f"{self.kind_} has not converged: {found['kind']} {found['value']:.3g}{after}",
            ConvergenceWarning,
            stacklevel=3,
        )

    # What was learnt ----------------------------------------------------------------------------

    @property
    def _strength_name(self) -> str | None:
        """The key of the strength of the method that was named or chosen."""
        return self.method._strength_name(self.kind_)

    @property
    def alpha_(self) -> float | None:
        """The strength of a method that pulls; `strength_` is that of any method."""
        name = self._strength_name
        if name != "alpha":
            has = "no strength" if name is None else f"{name}, which is strength_"
            raise AttributeError(f"alpha_ is for methods that pull; {self.kind_} has {has}")
        return self.strength_

    @property
    def certificate_(self) -> dict[str, Any]:
        """How close the run came to where it was going: `kind`, `value`, `converged`."""
        found: dict[str, Any] = self._details["certificate"]
        return found

    @property
    def converged_(self) -> bool:
        """Whether it came as close as asked."""
        return bool(self.certificate_["converged"])

    @property
    def notes_(self) -> list[str]:
        """What a reader should know: of the rows and columns, of the fit and, once compared, of that."""
        return list(self._notes if self._compared is None else self._compared.notes)

    @property
    def engine_(self) -> str:
        """What has found the answer, in words."""
        return str(self._details["engine"])

    @property
    def clusters_(self) -> dict[Any, int] | None:
        """The cluster of each node, where the method makes neighbours equal."""
        found = self._details["clusters"]
        return None if found is None else dict(zip(self.nodes_, found))

    @property
    def variances_(self) -> list[dict[str, Any]] | None:
        """How much nodes differ, coefficient by coefficient, for methods that estimate it.

        Each has `coefficient` (and `class`), its `mean` with `standard_error`, the `variance` of a node's
        deviation before neighbours are looked at, the standard `deviation` over the nodes, and `effect`: what
        that deviation changes in a prediction where the feature is one standard deviation from its mean.
        """
        found = self._details.get("variances")
        return None if found is None else [dict(one) for one in found["coefficients"]]

    def coefficients(self) -> dict[str, Any]:
        """The coefficients of all nodes as columns: `node`, `coefficient`, `value`, `standard_error`.

        `pandas.DataFrame(run.coefficients())` is a table of them. Standard errors are not-a-number where the
        method knows none. Of classes there is a column `class`, too; models without coefficients have no row.
        """
        names, places = self._coefficients.names(), self._coefficients.nodes()
        values, errors = self._coefficients.numbers()
        found: dict[str, Any] = {"node": [self.nodes_[place] for place in places for _ in names]}
        if any(group is not None for group, _ in names):
            found["class"] = [group for group, _ in names] * len(places)
        found["coefficient"] = [name for _, name in names] * len(places)
        return {**found, "value": values, "standard_error": errors}

    @property
    def history(self) -> History:
        """The rounds; without rounds, the residuals or certified gaps of the solver."""
        return History(self._details)

    @property
    def tallies(self) -> list[dict[str, Any]]:
        """For PersFL: who asked whom, how often, and what it was worth."""
        found = [dict(tally) for tally in self._details.get("tallies", [])]
        for tally in found:
            tally["target"] = self.nodes_[tally["target"]]
            tally["candidate"] = self.nodes_[tally["candidate"]]
        return found

    @property
    def models_(self) -> _Models:
        """The model of each node: the fitted Python object, or the values of a built-in model."""
        return _Models(self)

    # Predictions --------------------------------------------------------------------------------

    def predict(
        self,
        data: Any,
        node: Any = None,
        *,
        interval: float | None = None,
        history: Any = None,
        offset: Any = None,
        exposure: Any = None,
    ) -> Any:
        """One prediction per row, by its own node's model.

        With `interval`, such as 0.9, the predictions come with intervals that hold so large a share of new
        rows: `prediction`, `lower` and `upper`.

        `data` is a table with the node and feature columns, or a dict from node to X, which gives a
        dict; `node` names the column, or holds the node of each row of a matrix. Columns are matched by
        name where they have names, and by position in arrays.

        A run with lags needs a table with the column of times; `history` is a table of the time before, in which
        earlier values are looked for, too.

        A run that was trained with an offset or an exposure needs that of the new rows: the column of the same
        name, or `offset` or `exposure`, a column or a number for every row (for each node, in a dict).
        """
        known = self._known_part(offset, exposure)
        if interval is None:
            return self._answer(data, node, self._labels, known=known, history=history)
        if self.classes_ is not None:
            raise ValueError("intervals are for numbers; of classes predict_proba gives probabilities")
        factors = self._factors(interval)
        return self._answer(data, node, lambda values: values[:, 0], factors, known, history)

    def _factors(self, level: float) -> list[tuple[float, str]]:
        """The half width of each node's intervals over the deviation of its predictions, and its basis."""
        level = scalar(level)
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0.0 < level < 1.0:
            raise ValueError(f"interval is {level!r}, expected a share of rows between 0 and 1, such as 0.9")
        self._calibrate()
        assert self._intervals is not None
        bands = self._intervals.bands(float(level))
        return [(np.nan if factor is None else factor, basis) for factor, basis in bands]

    def predict_proba(self, data: Any, node: Any = None, *, history: Any = None) -> Any:
        """One probability per class and row."""
        if self.classes_ is None:
            raise AttributeError("predict_proba needs a run that predicts classes")
        return self._answer(data, node, lambda values: values, None, history)

    def _labels(self, values: Floats) -> npt.NDArray[Any]:
        if self.classes_ is None:
            return values[:, 0]
        found: npt.NDArray[Any] = self.classes_[values.argmax(axis=1)]
        return found

    def _answer(
        self,
        data: Any,
        node: Any,
        made: Any,
        factors: list[tuple[float, str]] | None = None,
        known: KnownPart | None = None,
        history: Any = None,
    ) -> Any:
        if self._lags is not None:
            if not is_table(data) or (isinstance(data, Mapping) and not self._is_table(data, node)):
                raise ValueError("a run with lags predicts a table with the columns of nodes and of times")
            columns, codes, nodes = self._read(data, node)
            before = None if history is None else self._read(history, node, all_sources=False)
            own = None if known is None else known.of_rows(data, len(codes))
            return self._made(columns, codes, nodes, made, factors, known, own, before)
        if history is not None:
            raise ValueError("history is for runs with lags, and this run has none")
        if isinstance(data, Mapping) and not self._is_table(data, node):
            self._known(data)
            parts = {
                key: matched(X, self._sources, f"X of node {key!r}", self._named)
                for key, X in data.items()
            }
            found = {}
            for key, columns in parts.items():
                codes = np.zeros(_rows(columns), dtype=np.int64)
                try:
                    own = None if known is None else known.of_node(key, data[key], _rows(columns))
                    found[key] = self._made(columns, codes, [key], made, factors, known, own)
                except ValueError as error:
                    raise ValueError(f"X of node {key!r}: {error}") from None
            return found
        columns, codes, nodes = self._read(data, node)
        own = None if known is None else known.of_rows(data, len(codes))
        return self._made(columns, codes, nodes, made, factors, known, own)

    def _known_part(self, offset: Any, exposure: Any) -> KnownPart | None:
        """What predictions need to know besides features."""
        about = json.loads(self._models.about()).get("known")
        for name, given in (("offset", offset), ("exposure", exposure)):
            if given is not None and (about is None or KnownPart.role_of(about["kind"]) != name):
                raise ValueError(f"{name} was given, and the run was trained without one")
        if about is None:
            return None
        return KnownPart(about["column"], about["kind"], exposure if offset is None else offset)

    def _made(
        self,
        columns: list[Handed],
        codes: Any,
        found: list[Any],
        made: Any,
        factors: Any,
        part: KnownPart | None,
        own: Floats | None,
        before: Any = None,
    ) -> Any:
        history = None
        if before is not None:
            known = self._known(before[2])
            places = np.array([known[name_of(node)] for node in before[2]], dtype=np.int64)
            history = places[before[1]], before[0]
        predictions = made(self._raw(columns, found, codes, history))
        if part is not None and own is not None:
            predictions = part.completed(predictions, own)
        if factors is None:
            return predictions
        known = self._known(found)
        places = np.array([known[name_of(node)] for node in found], dtype=np.int64)
        for node, place in zip(found, places):
            factor, basis = factors[place]
            if np.isnan(factor):
                warnings.warn(f"node {node!r}: {basis}", stacklevel=4)
        rows = {
            "nodes": places[codes], "columns": columns, "predictions": predictions, "history": history,
        }  # fmt: skip
        ends = self._models.ends(rows, [factor for factor, _ in factors], self._intervals)
        return Predicted(predictions, *ends)

    def _is_table(self, data: Mapping[Any, Any], node: Any) -> bool:
        """Whether a dict holds columns, and not the X of each node."""
        known = {name_of(key) for key in self.nodes_}
        are_nodes = [name_of(key) in known for key in data]
        are_columns = all(is_column(value) for value in data.values())
        if not {str(name) for name in data}.issuperset(self._sources):
            # Where nothing is a node, it is a table with something missing.
            return are_columns and bool(are_nodes) and not any(are_nodes)
        if not all(are_nodes):
            return True
        # Nodes are named like features: a table would also say whose rows these are.
        one = len(self.nodes_) == 1
        return are_columns and (node is not None or one or self._node_name in data)

    def _read(
        self, data: Any, node: Any, all_sources: bool = True
    ) -> tuple[list[Handed], Any, list[Any]]:
        if is_table(data):
            table = Table(data)
            text = {str(name): name for name in table.names}
            sources = list(self._sources) if all_sources else []
            if self._lags is not None:
                # What is predicted need not be in new rows.
                time, lagged = self._lags
                more = [time, *(name for name in lagged if name in text)]
                sources += [name for name in dict.fromkeys(more) if name not in sources]
            missing = [name for name in sources if name not in text]
            if missing:
                raise ValueError(
                    f"there is no column {missing[0]!r}, expected the features "
                    f"{shown(self._sources)}"
                )
            columns = [handed(table.column(text[name]), name) for name in sources]
            named = self._node_name if node is None else node
            if is_name(named, table):
                if str(named) not in text and len(self.nodes_) == 1:
                    return columns, np.zeros(len(table), dtype=np.int64), self.nodes_
                named = table.column(named if named in table.names else text.get(str(named), named))
        else:
            columns = self._of_matrix(data)
            named = node
        if named is None:
            if len(self.nodes_) > 1:
                raise ValueError("the node of each row is not known, expected it as node=")
            return columns, np.zeros(_rows(columns), dtype=np.int64), self.nodes_
        codes, found = coded(named)
        if len(codes) != _rows(columns):
            raise ValueError(f"node has {len(codes)} rows, expected {_rows(columns)}")
        return columns, codes, found

    def _of_matrix(self, data: Any) -> list[Handed]:
        columns, _ = matrix(data)
        if len(columns) != len(self._sources):
            found, expected = len(columns), len(self._sources)
            raise ValueError(f"the rows have {found} features, expected {expected}")
        return [handed(column, name) for column, name in zip(columns, self._sources)]

    def _known(self, found: Iterable[Any]) -> dict[str, int]:
        """The index of each node of the run by its name; refuses other nodes."""
        known = {name_of(node): index for index, node in enumerate(self.nodes_)}
        for node in found:
            if name_of(node) not in known:
                raise ValueError(f"node {node!r} is not of this run, which has {shown(self.nodes_)}")
        return known

    def _raw(self, columns: list[Handed], found: list[Any], codes: Any, history: Any = None) -> Floats:
        known = self._known(found)
        indices = np.array([known[name_of(node)] for node in found], dtype=np.int64)
        for name, kind, column in columns:
            # What is missing is a matter of the column plan.
            if kind == "number" and np.isinf(column).any():
                row = int(np.argmax(np.isinf(column)))
                node = found[codes[row]]
                raise ValueError(
                    f"{name!r} is {column[row]} in row {row} (node {node!r}), expected a finite number"
                )
        outputs = 1 if self.classes_ is None else len(self.classes_)
        with _limits(self._python):
            flat, notes = self._models.predict(indices[codes], columns, self._work.quiet(), history)
        for note in notes:
            warnings.warn(note, stacklevel=5)
        return np.asarray(flat, dtype=np.float64).reshape(-1, outputs)

    # The answer ---------------------------------------------------------------------------------

    def compare(self) -> Comparison:
        """Local, pooled, shrunk, the network and its shuffles, each tuned and scored in one way."""
        if self._compared is None:
            try:
                self._compared = Comparison(self._outcome(compare=True))
            finally:
                self._work.done()
        return self._compared

    def _outcome(self, compare: bool) -> native.Outcome:
        if self._study is None:
            raise RuntimeError(
                "a run that was pickled holds its models and what was compared before, not its rows; "
                "call compare() or report() before it is pickled"
            )
        self._calibrate()
        cards = []
        for contestant in self._study.contestants() if compare else [self._study.main()]:
            cards.append(self._card(contestant))
            self._work.show(contestant.strip('"'), 1)
        found: native.Outcome = self._study.outcome(
            cards, self._fitted, self.seconds, self._work.quiet()
        )
        return found

    def metrics(self, method: str | None = None, rows: str | None = None) -> dict[str, Any]:
        """What people read of the run's predictions, on test rows or else on validation rows: of numbers `rmse`,
        `mae`, `r2`, of classes `accuracy`, `auc`, `confusion` and more, as `Comparison.metrics` has them.

        `rows` is "test" or "validation"; `method` names another row of the comparison, such as "pooled".
        """
        if method is None and self._compared is None:
            return self._by_itself().metrics(None, rows)
        return self.compare().metrics(method, rows)

    def _by_itself(self) -> Comparison:
        """What was found without a comparison."""
        if self._alone is None:
            self._alone = Comparison(self._outcome(compare=False))
        return self._alone

    @property
    def result(self) -> dict[str, Any]:
        """All that was found, as the command's `result.json` has it; compares if need be."""
        return self.compare().result

    def report(self, path: str | Path, title: str = "fedgrid", compare: bool = True) -> Path:
        """Writes the page of the run: one HTML file that opens offline."""
        found = self.compare() if compare else self._by_itself()
        kept = {
            "outcome": found._outcome, "network": self.network._native,
            "positions": self.network.positions, "experiment": self._experiment, "helps": self._helps,
            "coefficients": self._coefficients,
        }  # fmt: skip
        page = native.page(title, kept)
        Path(path).write_text(page, encoding="utf-8")
        return Path(path)

    def experiment(self) -> str:
        """The experiment as a file of the command would have it."""
        return self._experiment

    def plot(self, what: str = "comparison", axes: Any = None, coefficient: str | None = None) -> Any:
        """A matplotlib figure.

        "comparison" has the comparison, the gain of each node and the way there; "coefficients" has each
        coefficient over the nodes with two standard errors to each side, or the one that is named.
        """
        from . import _plot

        drawn = {"comparison": _plot.comparison, "coefficients": _plot.coefficients}
        if what not in drawn:
            raise ValueError(f"there is no plot {what!r}, expected {shown(list(drawn))}")
        return drawn[what](self, axes, coefficient)

    # As a value ---------------------------------------------------------------------------------

    def __repr__(self) -> str:
        name = self._strength_name
        strength = "" if self.strength_ is None else f", {name}={self.strength_:.4g}"
        converged = "" if self.converged_ else ", not converged"
        return f"Run({self.kind_}, {len(self.nodes_)} nodes{strength}{converged})"

    def _repr_html_(self) -> str:
        if self._compared is not None:
            return self._compared._repr_html_()
        found = self.certificate_
        return (
            f"<p><b>{html.escape(repr(self))}</b><br>{html.escape(self.engine_)}, "
            f"{html.escape(str(found['kind']))} {found['value']:.3g}</p>{html_notes(self.notes_)}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # The format is looked at before anything else is read.
        return _unpickled, (FORMAT, native.__version__), self.__getstate__()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["_format"] = FORMAT
        state["_exported"] = [self._models.export(k) for k in range(len(self.nodes_))]
        state["_about"] = self._models.about()
        state["_work"] = self._work.threads
        # Files have plain values in the place of native ones, and call every strength alpha.
        state["alpha_"] = state.pop("strength_")
        state["_alone"] = None if self._alone is None else self._alone.result
        state["_helps"] = self._helps.text()
        state["_coefficients"] = self._coefficients.text()
        state["_intervals"] = None if self._intervals is None else self._intervals.text()
        state["_cards"] = {}
        for name in ("_study", "_fitted", "_models"):
            state[name] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_format" not in state:
            raise ValueError(
                "the run was pickled by a fedgrid that noted no version, and fedgrid "
                f"{native.__version__} cannot read it; fit it again"
            )
        state = dict(state)
        exported, about = state.pop("_exported"), state.pop("_about")
        if json.loads(about).get("scaling") is not None:
            raise ValueError(
                "the run was pickled by an earlier fedgrid with standardise=True, and fedgrid "
                f"{native.__version__} keeps models in the units of rows; fit it again"
            )
        del state["_format"]
        state["strength_"] = state.pop("alpha_")
        # Earlier versions chose no method.
        state.setdefault("kind_", state["method"].kind)
        state["_helps"] = native.Helps.restore(state["_helps"])
        # Runs of earlier formats know neither coefficients nor intervals.
        nothing = '{"names": [], "nodes": []}'
        state["_coefficients"] = native.Coefficients.restore(state.get("_coefficients", nothing))
        kept = state.get("_intervals")
        state["_intervals"] = None if kept is None else native.Intervals.restore(kept)
        state.setdefault("_is_calibrated", False)
        # Features of earlier runs are columns as they are.
        state.setdefault("_sources", state["features_"])
        state.setdefault("_lags", None)
        if state["_alone"] is not None:
            state["_alone"] = Comparison(native.Outcome.restore(json.dumps(state["_alone"])))
        self.__dict__.update(state)
        if self._strength_name is None:
            self.strength_ = None
        self._work = Work(state["_work"] or None, (), False)
        self._models = native.Models.restore(exported, about)


def _unpickled(format: int, version: str) -> Run:
    """An empty run for what was pickled in this format by this version."""
    if format > FORMAT:
        raise ValueError(
            f"the run was pickled by fedgrid {version} in format {format}, and fedgrid "
            f"{native.__version__} reads formats up to {FORMAT}; use fedgrid {version} or later"
        )
    return Run.__new__(Run)


def _rows(columns: list[Handed]) -> int:
    return len(columns[0][2]) if columns else 0


class _Models(Mapping[Any, Any]):
    """The models of a run by node."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._indices = {name_of(node): k for k, node in enumerate(run.nodes_)}

    def __getitem__(self, node: Any) -> Any:
        found = self._run._models.export(self._indices[name_of(node)])
        return json.loads(found) if isinstance(found, str) else found[1]

    def __iter__(self) -> Any:
        return iter(self._run.nodes_)

    def __len__(self) -> int:
        return len(self._run.nodes_)
