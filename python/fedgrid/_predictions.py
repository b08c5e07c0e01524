"""What the models of a run predict for new rows, with intervals and what is known of these rows besides features."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _fedgrid as native
from ._frames import Floats, Handed, Table, coded, handed, is_column, is_table, matched, matrix, name_of, shown
from ._known import KnownPart
from ._plain import scalar
from ._rows import is_name
from ._work import Work, limits


class Predicted(NamedTuple):
    """Predictions with the ends of their intervals; not-a-number where a node has too few rows for one."""

    prediction: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]


class Predictions:
    """The part of a run that reads new rows and predicts them; `Run` has what it needs."""

    nodes_: list[Any]
    classes_: npt.NDArray[Any] | None
    _sources: list[str]
    #: The column of times, and those that lags are made of.
    _lags: tuple[str, list[str]] | None
    _node_name: Any
    _named: bool
    _python: bool
    _work: Work
    _models: Any
    _intervals: native.Intervals | None

    def _calibrate(self) -> None:
        """Looks how far predictions are off on rows that the models have not seen."""
        raise NotImplementedError

    def _kept(self, use: str | None, stands_in: bool, always: bool = False) -> native.Kept | None:
        """The models of the method that predicts; None for the run's own, as they are here, unless they are wanted
        `always`. `stands_in` says that rows of nodes that the run does not know are asked for."""
        raise NotImplementedError

    def predict(
        self,
        data: Any,
        node: Any = None,
        *,
        use: str | None = None,
        nodes: Any = None,
        edges: Any = None,
        unknown: str | None = None,
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

        `use` names the method whose models predict: "network" (or the run's own), "mixed", "shrunk", "pooled", "local", or
        "advised", which is what the verdict advises. A run that has been compared, or was loaded, takes the advised one by
        default, and a warning says so where that is not the run's own; before it is compared, it takes its own.

        `unknown` says what becomes of rows of nodes that the run has never seen, as `--unknown` of the command does: by
        default the mean of their neighbours' models where `nodes` or `edges` say who these are, and else the pooled
        model (the mean coefficients of a mixed one); "pooled", that model in any case; "neighbours", which refuses nodes
        without any; "refuse". A warning names these nodes, because a typing error in a name looks like a new node. `nodes`
        is a table of their places, with the columns of the table of nodes that the command trained the run with; `edges`
        one of edges to nodes of the run, with the columns src, dst and weight.
        """
        known = self._known_part(offset, exposure)
        read, rule = self._ruled(data, node, (unknown, nodes, edges))
        kept = self._kept(use, rule != "refuse")
        if kept is not None:
            level = None if interval is None else self._level(interval)
            asked = {"level": level, "unknown": rule, "near": near(nodes, edges), "history": None}
            return self._by_kept(kept, (data, node, read), asked, known, history, self._numbers)
        if interval is None:
            return self._answer(data, node, self._labels, known=known, history=history, read=read)
        if self.classes_ is not None:
            raise ValueError("intervals are for numbers; of classes predict_proba gives probabilities")
        factors = self._factors(interval)
        return self._answer(data, node, lambda values: values[:, 0], factors, known, history, read)

    def _ruled(self, data: Any, node: Any, asked: tuple[str | None, Any, Any]) -> tuple[Any, str | None]:
        """Rows that were read (None of a dict of nodes), and the rule for nodes that the run has never seen: "refuse" where
        there is none, because what stands in for a node may have to be trained first."""
        unknown, nodes, edges = asked
        is_told = nodes is not None or edges is not None
        if unknown not in (None, "refuse", "pooled", "neighbours"):
            raise ValueError(f"unknown is {unknown!r}, expected refuse, pooled or neighbours")
        if unknown == "neighbours" and not is_told:
            raise ValueError("unknown is 'neighbours', which needs the places of new nodes as nodes=, or edges=")
        if isinstance(data, Mapping) and not self._is_table(data, node):
            read, found = None, list(data)
        else:
            read = self._read(data, node)
            found = read[2]
        known = {name_of(one) for one in self.nodes_}
        has_unknown = any(name_of(one) not in known for one in found)
        return read, unknown if has_unknown else "refuse"

    def explain(
        self,
        data: Any,
        node: Any = None,
        *,
        use: str | None = None,
        nodes: Any = None,
        edges: Any = None,
        unknown: str | None = None,
        history: Any = None,
        offset: Any = None,
        exposure: Any = None,
    ) -> Any:
        """Why rows are predicted as they are: what each column adds to a base, as `predict --explain` of the command.

        What comes back has an array for every column, `base` and `by` (whose model has predicted the row) as columns of a
        pandas frame with the rows of `data` as its index, or as a dict of arrays where pandas is not installed; of a dict
        from node to X, a dict. Base and columns add up to the prediction of linear models, trees and boosting, to the
        logarithm of odds of logistic models, and so on; a warning says to what. There is no method for nearest neighbours,
        kernels, smoothers, perceptrons, graphical lassos and Python objects. Everything else is as in `predict`.
        """
        known = self._known_part(offset, exposure)
        read, rule = self._ruled(data, node, (unknown, nodes, edges))
        kept = self._kept(use, rule != "refuse", True)
        assert kept is not None
        asked = {"level": None, "unknown": rule, "near": near(nodes, edges), "history": None}
        return self._by_kept(kept, (data, node, read), asked, known, history, self._why)

    def _why(self, kept: native.Kept, rows: Any, asked: dict[str, Any], data: Any) -> Any:
        with limits(self._python):
            base, columns, by, notes = kept.explain(rows, asked, self._work.quiet())
        for note in notes:
            warnings.warn(note, stacklevel=4)
        found = {"base": base, **{name: cells for name, cells in columns}, "by": np.array(by)}
        try:
            import pandas
        except ImportError:
            return found
        index = getattr(data, "index", None)
        is_index = isinstance(index, pandas.Index) and len(index) == len(base)
        return pandas.DataFrame(found, index=index if is_index else None)

    def _factors(self, level: float) -> list[tuple[float, str]]:
        """The half width of each node's intervals over the deviation of its predictions, and its basis."""
        level = self._level(level)
        self._calibrate()
        assert self._intervals is not None
        bands = self._intervals.bands(level)
        return [(np.nan if factor is None else factor, basis) for factor, basis in bands]

    def _level(self, level: float) -> float:
        """The level of intervals, if it is one."""
        level = scalar(level)
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0.0 < level < 1.0:
            raise ValueError(f"interval is {level!r}, expected a share of rows between 0 and 1, such as 0.9")
        if self.classes_ is not None:
            raise ValueError("intervals are for numbers; of classes predict_proba gives probabilities")
        return float(level)

    def _by_kept(
        self,
        kept: native.Kept,
        given: tuple[Any, Any, Any],
        asked: dict[str, Any],
        known: KnownPart | None,
        history: Any,
        of: Callable[[native.Kept, Any, dict[str, Any], Any], Any],
    ) -> Any:
        """What `of` makes of rows and models that are kept, such as predictions, as the command makes them."""
        data, node, read = given
        if isinstance(data, Mapping) and not self._is_table(data, node):
            if self._lags is not None:
                raise ValueError("a run with lags predicts a table with the columns of nodes and of times")
            found = {}
            for key, X in data.items():
                columns = matched(X, self._sources, f"X of node {key!r}", self._named)
                codes = np.zeros(_rows(columns), dtype=np.int64)
                own = None if known is None else known.of_node(key, X, _rows(columns))
                rows = self._kept_rows(columns, codes, [key], asked, known, own)
                found[key] = of(kept, rows, asked, X)
            return found
        columns, codes, found_nodes = read
        if history is not None:
            before = self._read(history, node, all_sources=False)
            asked["history"] = ([name_of(one) for one in before[2]], before[1].astype(np.int64), before[0])
        own = None if known is None else known.of_rows(data, len(codes))
        return of(kept, self._kept_rows(columns, codes, found_nodes, asked, known, own), asked, data)

    def _kept_rows(
        self,
        columns: list[Handed],
        codes: Any,
        found: list[Any],
        asked: dict[str, Any],
        known: KnownPart | None,
        own: Floats | None,
    ) -> tuple[list[str], Any, list[Handed]]:
        """Rows as kept models take them."""
        if asked["unknown"] == "refuse":
            self._known(found)
        if known is not None and own is not None:
            columns = [one for one in columns if one[0] != known.column]
            columns.append((known.column, "number", np.ascontiguousarray(own, dtype=np.float64)))
        names = [name_of(node) for node in found]
        return names, np.asarray(codes, dtype=np.int64), columns

    def _numbers(self, kept: native.Kept, rows: Any, asked: dict[str, Any], _: Any) -> Any:
        values, ends = self._kept_values(kept, rows, asked)
        predictions = self._labels(values)
        return predictions if ends is None else Predicted(predictions, *ends)

    def predict_proba(
        self,
        data: Any,
        node: Any = None,
        *,
        use: str | None = None,
        nodes: Any = None,
        edges: Any = None,
        unknown: str | None = None,
        history: Any = None,
    ) -> Any:
        """One probability per class and row, by the models that `predict` takes."""
        if self.classes_ is None:
            raise AttributeError("predict_proba needs a run that predicts classes")
        read, rule = self._ruled(data, node, (unknown, nodes, edges))
        kept = self._kept(use, rule != "refuse")
        if kept is not None:
            asked = {"level": None, "unknown": rule, "near": near(nodes, edges), "history": None}
            return self._by_kept(kept, (data, node, read), asked, None, history, self._probabilities)
        return self._answer(data, node, lambda values: values, history=history, read=read)

    def _probabilities(self, kept: native.Kept, rows: Any, asked: dict[str, Any], _: Any) -> Any:
        return self._kept_values(kept, rows, asked)[0]

    def _kept_values(self, kept: native.Kept, rows: Any, asked: dict[str, Any]) -> tuple[Floats, list[Floats] | None]:
        with limits(self._python):
            flat, ends, _, notes = kept.predict(rows, asked, self._work.quiet())
        for note in notes:
            warnings.warn(note, stacklevel=5)
        outputs = 1 if self.classes_ is None else len(self.classes_)
        return np.asarray(flat, dtype=np.float64).reshape(-1, outputs), ends

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
        read: Any = None,
    ) -> Any:
        if self._lags is not None:
            if not is_table(data) or (isinstance(data, Mapping) and not self._is_table(data, node)):
                raise ValueError("a run with lags predicts a table with the columns of nodes and of times")
            columns, codes, nodes = read
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
        columns, codes, nodes = read
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
        with limits(self._python):
            flat, notes = self._models.predict(indices[codes], columns, self._work.quiet(), history)
        for note in notes:
            warnings.warn(note, stacklevel=5)
        return np.asarray(flat, dtype=np.float64).reshape(-1, outputs)


def near(nodes: Any, edges: Any) -> tuple[str, list[Handed]] | None:
    """Where new nodes are, as a table for the native side."""
    if nodes is not None and edges is not None:
        raise ValueError("nodes and edges were both given, expected one of them")
    given = edges if nodes is None else nodes
    if given is None:
        return None
    table = Table(given)
    columns = []
    for name in table.names:
        # Names of nodes may be numbers, which the command reads as text.
        is_name = edges is not None and str(name) in ("src", "dst")
        cells = table.column(name)
        columns.append((str(name), "text", [name_of(one) for one in cells]) if is_name else handed(cells, str(name)))
    return ("places" if edges is None else "edges"), columns


def _rows(columns: list[Handed]) -> int:
    return len(columns[0][2]) if columns else 0
