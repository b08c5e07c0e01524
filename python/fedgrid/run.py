"""What a method leaves: one model per node, and the answer to whether the network helps."""

from __future__ import annotations

import html
import json
import tempfile
import textwrap
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _fedgrid as native
from ._frames import name_of, shown
from ._predictions import Predictions
from ._study import Prepared
from ._work import Work, limits, nothing
from .comparison import Comparison, History, html_notes

if TYPE_CHECKING:
    from .methods import Method

#: The format of pickled runs; a fedgrid reads its own and earlier ones.
FORMAT = 5


class ConvergenceWarning(UserWarning):
    """A run has not come as close to where it was going as was asked."""


class Run(Predictions):
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
        #: Models of methods beside the run's own, by name and whether pooled ones stand in.
        self._kept_models: dict[tuple[str, bool], native.Kept] = {}
        self._alone: Comparison | None = None
        self._compared: Comparison | None = None
        #: What the pages of the run know of its nodes, with and without a comparison.
        self._page_data: dict[bool, str] = {}

    # Training -----------------------------------------------------------------------------------

    def _strength(self) -> tuple[float, float | None]:
        """The strength and the ridge of the run: as given, or as validation rows choose them, after the method."""
        with limits(self._python):
            self.kind_ = self._study.choose(self._work.how("choose"))
        strength = self._study.given()
        if strength is not None:
            return strength, None
        return self._card(self._study.main()).strength()

    def _card(self, contestant: str) -> native.Card:
        if contestant not in self._cards:
            with limits(self._python):
                card = self._study.card(contestant, self._work.how("tune"))
            self._cards[contestant] = card
            for callback in self._work.callbacks:
                getattr(callback, "on_card", nothing)(card.plain())
        return self._cards[contestant]

    def _fit(self, strength: float, ridge: float | None) -> None:
        with limits(self._python):
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
        with limits(self._python):
            how = self._work.quiet()
            self._fitted = self._study.calibrated(self._fitted, *self._given, how)
        self._intervals = self._study.intervals(self._fitted)
        self._is_calibrated = True

    def _finish(self) -> None:
        self.seconds = time.perf_counter() - self._begun
        for callback in self._work.callbacks:
            getattr(callback, "on_end", nothing)(self)

    def _warn(self) -> None:
        """Says that the run has not converged, where its caller's code stands."""
        if self.converged_:
            return
        found, rounds = self.certificate_, len(self._details["rounds"])
        hint = "they came no nearer to rest" if self._details["came_no_nearer"] else "more rounds (rounds=) may help"
        after = f" after {rounds} rounds; {hint}" if rounds else ""
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
            "coefficients": self._coefficients, "data": self._data_of_page(compare),
        }  # fmt: skip
        page = native.page(title, kept)
        Path(path).write_text(page, encoding="utf-8")
        return Path(path)

    def _data_of_page(self, compare: bool) -> str | None:
        if compare not in self._page_data and self._study is not None:
            with limits(self._python):
                data = self._study.page_data(self._carded(compare), self._work.quiet())
            self._page_data[compare] = data
        return self._page_data.get(compare)

    def _carded(self, compare: bool) -> dict[str, Any]:
        """What the cards of nodes are made of."""
        found = self.compare() if compare else self._by_itself()
        contestants = self._study.contestants() if compare else [self._study.main()]
        return {"cards": [self._card(one) for one in contestants], "fitted": self._fitted, "outcome": found._outcome}

    def node(self, name: Any) -> dict[str, Any]:
        """What is known of a node, as `fedgrid show --node NAME --json` has it: its errors by each method, its coefficients
        beside those of the pooled model and of its neighbours, trees as rules, who pulls it, its intervals, and the
        importance of columns on rows that validate. A run that was compared has the errors of all methods.
        """
        if self._study is None:
            raise RuntimeError("a run that was pickled has no rows to look at; save() it before, and load that")
        names = [name_of(one) for one in self.nodes_]
        if name_of(name) not in names:
            raise ValueError(f"node {name!r} is not of this run, which has {shown(self.nodes_)}")
        parts = self._carded(self._compared is not None)
        with limits(self._python):
            found: dict[str, Any] = self._study.node(parts, names.index(name_of(name)), self._work.quiet())
        return found

    def summary(self) -> str:
        """The run in some lines: what was trained, how it went and, once it is compared, what the comparison says."""
        rows = "" if self._study is None else f", {self._study.counts()[0]:,} training rows"
        lines = [f"{self!r}{rows}, {len(self.features_)} features"]
        if self._compared is not None:
            return "\n".join([*lines, "", str(self._compared)])
        found = self.certificate_
        lines.append(f"{self.engine_}, {found['kind']} {found['value']:.3g}; not compared yet (run.compare())")
        notes = [textwrap.fill(f"Note: {note}", 80) for note in self.notes_]
        return "\n".join([*lines, *(["", *notes] if notes else [])])

    def export_onnx(self, path: str | Path, node: Any = None, force: bool = False) -> Path:
        """Writes the models as ONNX, which runtimes in many languages can compute, in double precision.

        A path that ends with `.onnx` is one file, which takes the name of each row's node as an input; any other
        is a folder with a file of each node and `nodes.json`. With `node`, it is one file of that node. Files take
        the features as models see them, `run.features_`; what is made of columns before is warned of.
        """
        path = Path(path)
        if path.exists() and not force:
            raise FileExistsError(f"{str(path)!r} exists: replace it with force=True")
        names = [name_of(one) for one in self.nodes_]
        note = self._models.export_onnx(names, path, None if node is None else name_of(node))
        if note is not None:
            warnings.warn(note, stacklevel=2)
        return path

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

    # The methods that are kept --------------------------------------------------------------------

    @property
    def advised_(self) -> str:
        """The method that the verdict advises; the run's own where it is undecided. Compares if need be."""
        found = self.compare().result.get("advised")
        return self._own_name() if found is None else _called(json.dumps(found))

    def _own_name(self) -> str:
        """The run's own method among those that are compared."""
        if self._study is not None:
            return _called(self._study.main())
        return "network" if self._compared is None else self._compared.own

    def _kept(self, use: str | None, stands_in: bool, always: bool = False) -> native.Kept | None:
        own = self._own_name()
        if use == "advised" or (use is None and self._compared is not None):
            wanted = self.advised_
        else:
            wanted = own if use is None else use
        if wanted == own and not stands_in and not always:
            return None
        if self._study is None:
            return self._kept_of_pickle(use, wanted, stands_in, always)
        found = self._kept_of(wanted, own, stands_in)
        if wanted != own and use != wanted:
            warnings.warn(found.note(), stacklevel=3)
        return found

    def _kept_of_pickle(self, use: str | None, wanted: str, stands_in: bool, always: bool) -> native.Kept | None:
        """Models of a run that was pickled: those that it had, and those that predict once a run is compared."""
        own = self._own_name()
        for key in ((wanted, True), (wanted, False)):
            if key in self._kept_models and (key[1] or not stands_in or wanted == "pooled"):
                found = self._kept_models[key]
                if wanted != own and use != wanted:
                    warnings.warn(found.note(), stacklevel=4)
                return found
        if use is None and not stands_in and not always:
            # Models that are Python objects are pickled, and those of other methods cannot be trained again.
            warnings.warn(
                f"the pickled run has no models of {wanted}, which the verdict advises: predicted by {own} instead",
                stacklevel=4,
            )
            return None
        names = ", ".join(dict.fromkeys([own, *(name for name, _ in self._kept_models)]))
        what = f"the models of {wanted}"
        if stands_in or wanted == own:
            what = "a model for nodes that it has never seen" if stands_in else "what explain needs"
        raise RuntimeError(
            f"the pickled run has not {what} (it has those of {names}): it keeps what it had when it was pickled; compare "
            "it before, or save it as a folder with save() and load that with Run.load()"
        )

    def _keep_for_pickle(self) -> dict[tuple[str, bool], str]:
        """Other methods' models as text: those that are there and, of a run that was compared, those that predict, also at
        nodes that it has never seen. Nothing where models are Python objects."""
        if self._study is not None and self._compared is not None and not self._python:
            self._kept_of(self.advised_, self._own_name(), True)
        texts = {key: kept.text() for key, kept in self._kept_models.items()}
        return {key: text for key, text in texts.items() if text is not None}

    def _kept_of(self, wanted: str, own: str, stands_in: bool) -> native.Kept:
        by_name = {_called(one): one for one in [*self._study.contestants(), self._study.main()]}
        known = list(by_name)
        names = [own, *(one for one in ("local", "pooled", "shrunk", "mixed") if one in known and one != own)]
        if wanted not in names and not (self._compared is not None and wanted == self.advised_):
            raise ValueError(f"use is {wanted!r}, expected {shown([*names, 'advised'])}")
        pooled = None
        # The pooled model stands in at nodes that the run does not know.
        if stands_in and wanted != "pooled" and "pooled" in names:
            pooled = self._kept_of("pooled", own, False)
        key = wanted, pooled is not None
        if key not in self._kept_models:
            advised = by_name[own if self._compared is None else self.advised_]
            if wanted == own:
                if self.classes_ is None:
                    self._calibrate()
                found = self._study.kept_own(self._fitted, advised, pooled)
            else:
                card = self._card(by_name[wanted])
                with limits(self._python):
                    found = self._study.kept(card, advised, self._work.quiet(), pooled)
                self._work.done()
            self._kept_models[key] = found
        return self._kept_models[key]

    def save(
        self, folder: str | Path, title: str | None = None, *, compare: bool = True, force: bool = False
    ) -> Path:
        """Writes the folder of a run, which the command takes: `fedgrid predict`, `show`, `export` and `serve`.

        With `compare`, the folder keeps the models of the rows without a network, too, and what the verdict advises
        predicts. `force` replaces a run that is there. Models that are Python objects cannot be stored so.
        """
        if self._study is None:
            raise RuntimeError("a run that was pickled has no rows, which a folder needs; save it before")
        folder = Path(folder)
        found = self.compare() if compare else self._by_itself()
        contestants = self._study.contestants() if compare else [self._study.main()]
        parts = {
            "folder": folder, "title": folder.name if title is None else title, "force": force,
            "cards": [self._card(one) for one in contestants], "fitted": self._fitted, "outcome": found._outcome,
        }  # fmt: skip
        with limits(self._python):
            self._study.save(parts, self._work.quiet())
        return folder

    @staticmethod
    def load(folder: str | Path) -> Run:
        """Opens the folder of a run, of the command or of `save`: it predicts, and has the comparison, the report and
        the coefficients. It holds no rows, so that nothing can be trained again."""
        from ._folder import FolderRun

        return FolderRun(Path(folder))

    def update(
        self,
        data: Any,
        *,
        nodes: Any = None,
        edges: Any = None,
        history: Any = None,
        repeated: str = "refuse",
        tune: bool = False,
        all_methods: bool = False,
    ) -> Run:
        """A run whose models know further rows, too, and the nodes that these name; this one stays as it is.

        `data` is a table with the columns that the run was trained on, its target among them, or a dict of (X, y) for
        each node. All rows train, unless the run has a split column and the table has it, too. New nodes need their places
        as `nodes`, with the columns of the table of nodes that the command trained the run with, or their edges as `edges`
        (src, dst, weight). A run with lags needs `history`, a table with rows of the time before, as `predict` does; of a
        run that was loaded, they are read again from where its experiment says. `repeated` says what becomes of rows that
        the run knows: "refuse", "skip" or "add". `tune` chooses strengths again. `all_methods` updates all methods that the
        run keeps; otherwise these are its own, the one that the verdict advises, and the pooled models.

        It is the run that a fit of all rows makes, at the strengths and by the column plan of this one: linear models
        take sums for the rows before, others these rows. Errors and verdict stay those of this run, and say so. What
        comes back is as from `Run.load`: it predicts, has the coefficients and the report, and can be updated again.
        """
        if self._study is None:
            raise RuntimeError("a run that was pickled has no rows to go on from; update it before, or save() it")
        from ._update import updated

        with tempfile.TemporaryDirectory() as made:
            folder = self.save(Path(made) / "run", compare=self._compared is not None)
            return updated(self, folder, self._study, data, nodes, edges, history, repeated, tune, all_methods)

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
        state["_kept_models"] = self._keep_for_pickle()
        # Models that are kept with all that predictions may need are not written twice.
        is_kept = (self._own_name(), True) in state["_kept_models"]
        state["_exported"] = None if is_kept else [self._models.export(k) for k in range(len(self.nodes_))]
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
        # Runs of format 4 and before keep their own models alone.
        kept_models = state.get("_kept_models", {})
        state["_kept_models"] = {key: native.Kept.restore(text) for key, text in kept_models.items()}
        state.setdefault("_page_data", {})
        # Features of earlier runs are columns as they are.
        state.setdefault("_sources", state["features_"])
        state.setdefault("_lags", None)
        if state["_alone"] is not None:
            state["_alone"] = Comparison(native.Outcome.restore(json.dumps(state["_alone"])))
        self.__dict__.update(state)
        if self._strength_name is None:
            self.strength_ = None
        self._work = Work(state["_work"] or None, (), False)
        if exported is None:
            self._models = self._kept_models[self._own_name(), True].models([name_of(node) for node in self.nodes_])
        else:
            self._models = native.Models.restore(exported, about)


def _unpickled(format: int, version: str) -> Run:
    """An empty run for what was pickled in this format by this version."""
    if format > FORMAT:
        raise ValueError(
            f"the run was pickled by fedgrid {version} in format {format}, and fedgrid "
            f"{native.__version__} reads formats up to {FORMAT}; use fedgrid {version} or later"
        )
    return Run.__new__(Run)


def _called(contestant: str) -> str:
    """What a row of the comparison, as JSON, is called: its own name, or that of the baseline that it is."""
    found = json.loads(contestant)
    return str(next(iter(found.values()))) if isinstance(found, dict) else str(found)


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
