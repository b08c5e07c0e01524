"""Tables of any kind as NumPy columns, and as the cells that the column plan reads.

pandas, polars and pyarrow are never imported: their tables are recognised by what they can do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from ._plain import scalar

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: A column for the native side: its name, "number", "truth" or "text", and its cells.
Handed = tuple[str, str, Any]


class Table:
    """Named columns of one length."""

    def __init__(self, source: Any) -> None:
        self._get: Callable[[Any], Any]
        if hasattr(source, "collect") and hasattr(source, "lazy"):  # a lazy frame of polars
            source = source.collect()
        if hasattr(source, "column_names") and hasattr(source, "column"):  # pyarrow
            self.names = list(source.column_names)
            self._get = lambda name: source.column(self.names.index(name)).to_numpy()
        elif hasattr(source, "columns") and hasattr(source, "__getitem__"):  # pandas, polars
            self.names = list(source.columns)
            self._get = lambda name: _array(source[name])
        elif isinstance(source, Mapping):
            self.names = list(source)
            self._get = lambda name: _array(source[name])
        else:
            raise TypeError(
                f"data is a {type(source).__name__}, expected a pandas, polars or pyarrow table, "
                "a dict of columns, or a dict of (X, y) for each node"
            )
        if len(set(map(str, self.names))) < len(self.names):
            texts = [str(name) for name in self.names]
            twice = next(name for name in texts if texts.count(name) > 1)
            raise ValueError(f"column {twice!r} appears twice")

    def column(self, name: Any) -> npt.NDArray[Any]:
        """One column as it is."""
        if name not in self.names:
            raise ValueError(f"there is no column {name!r}, expected one of {shown(self.names)}")
        return np.asarray(self._get(name))

    def numbers(self, name: Any) -> Floats:
        """One column as floats."""
        return numbers(self.column(name), str(name))

    def __len__(self) -> int:
        return len(self._get(self.names[0])) if self.names else 0


def _array(column: Any) -> npt.NDArray[Any]:
    return column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)


def handed(column: Any, name: str) -> Handed:
    """A column as the column plan reads it: numbers and truths as floats, in which not-a-number stands for no
    value, and everything else as text, dates among it."""
    cells = np.asarray(column)
    if cells.ndim == 2 and cells.shape[1] == 1:
        cells = cells[:, 0]
    if cells.ndim != 1:
        raise ValueError(f"column {name!r} has shape {cells.shape}, expected one value per row")
    kind = cells.dtype.kind
    if kind in "biuf":
        return name, "truth" if kind == "b" else "number", cells.astype(np.float64, copy=False)
    if kind == "m":
        return name, "number", cells / np.timedelta64(1, "D")
    if kind == "M":
        texts = np.datetime_as_string(cells.astype("datetime64[us]")).tolist()
        return name, "text", [None if text == "NaT" else text for text in texts]
    if kind == "c":
        raise ValueError(f"column {name!r} holds complex numbers, expected numbers, text or times")
    values = [None if is_missing(cell) else cell for cell in cells.tolist()]
    kinds = {type(value) for value in values if value is not None}
    if kinds and all(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        return name, "truth", _floats(values)
    if kinds and all(issubclass(kind, (int, float, Decimal, np.number)) for kind in kinds):
        return name, "number", _floats(values)
    return name, "text", [None if value is None else _text(value) for value in values]


def _floats(values: list[Any]) -> Floats:
    return np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)


def _text(value: Any) -> str:
    """A cell as files write it."""
    if isinstance(value, timedelta):
        return str(value / timedelta(days=1))
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    if isinstance(value, (str, int, float, bool, Decimal, np.generic)):
        return str(value)
    # Lists, dicts and the like: the plan says that the column is the same in all rows, and leaves it out.
    return f"<{type(value).__name__}>"


def shown(names: Sequence[Any], most: int = 8) -> str:
    """Some names for a message."""
    listed = ", ".join(repr(name) for name in list(names)[:most])
    return listed + (", …" if len(names) > most else "")


def numbers(column: Any, name: str) -> Floats:
    """A column as floats, whatever holds it; gaps become NaN and are refused with their node."""
    cells = np.asarray(column)
    if cells.ndim == 2 and cells.shape[1] == 1:
        cells = cells[:, 0]
    if cells.ndim != 1:
        raise ValueError(f"{name} has shape {cells.shape}, expected one number per row")
    if cells.dtype.kind in "biuf":
        return cells.astype(np.float64, copy=False)
    if cells.dtype.kind not in "OUST":
        raise ValueError(f"{name} holds {cells.dtype}, expected numbers")
    values = np.empty(len(cells))
    for row, cell in enumerate(cells):
        try:
            values[row] = np.nan if is_missing(cell) else float(cell)
        except (TypeError, ValueError):
            raise ValueError(f"{name} is {scalar(cell)!r} in row {row}, expected a number") from None
    return values


def is_missing(cell: Any) -> bool:
    """Whether a cell holds nothing."""
    return cell is None or str(cell) in ("<NA>", "NaT", "nan")


def is_table(X: Any) -> bool:
    """Whether columns have names."""
    return isinstance(X, Mapping) or hasattr(X, "columns") or hasattr(X, "column_names")


def is_column(X: Any) -> bool:
    """Whether it holds one cell after the other, and not rows of cells."""
    return not is_table(X) and np.ndim(X) == 1


def matrix(X: Any, what: str = "X") -> tuple[list[npt.NDArray[Any]], list[str]]:
    """The columns of a matrix or frame of features as they are, and their names."""
    if is_table(X):
        table = Table(X)
        return [table.column(name) for name in table.names], [str(name) for name in table.names]
    values = np.asarray(X)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise ValueError(f"{what} has shape {values.shape}, expected rows and columns")
    if values.dtype.kind in "biuf":
        values = values.astype(np.float64, copy=False)
    names = [f"x{column}" for column in range(values.shape[1])]
    return [values[:, column] for column in range(len(names))], names


def matched(X: Any, names: Sequence[str], what: str, named: bool = True) -> list[Handed]:
    """The columns that features are made of, in their order: by name where X has names, by position otherwise.

    Features that were given without names (`named` is false) have made-up ones, which no frame knows: one
    with as many columns is read by position.
    """
    if is_table(X):
        table = Table(X)
        text = {str(name): name for name in table.names}
        missing = [name for name in names if name not in text]
        if not missing:
            chosen = [text[name] for name in names]
        elif named or len(table.names) != len(names):
            raise ValueError(f"{what} has no column {missing[0]!r}, expected {shown(names)}")
        else:
            chosen = table.names
        return [handed(table.column(own), name) for own, name in zip(chosen, names)]
    if np.ndim(X) == 1 and not len(X):
        return [(name, "number", np.empty(0)) for name in names]
    columns, _ = matrix(X, what)
    if len(columns) != len(names):
        raise ValueError(f"{what} has {len(columns)} columns, expected {len(names)}: {shown(names)}")
    return [handed(column, name) for column, name in zip(columns, names)]


def stacked(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Parts of a column under one another, whatever each holds."""
    kinds = {part.dtype.kind for part in parts}
    if len(kinds) > 1 and not kinds <= set("iuf"):
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


def name_of(node: Any) -> str:
    """The text under which a node is known: 3, 3.0 and "3" are one node."""
    if isinstance(node, (float, np.floating)) and float(node).is_integer():
        node = int(node)
    return str(node)


def coded(column: Any, what: str = "the node") -> tuple[Ints, list[Any]]:
    """The index of each cell among the different ones, and these in order."""
    cells = np.asarray(column)
    if cells.ndim == 2 and cells.shape[1] == 1:
        cells = cells[:, 0]
    if cells.ndim != 1:
        raise ValueError(f"{what} has shape {cells.shape}, expected one name per row")
    if cells.dtype.kind in "iu" and (found := _of_range(cells)) is not None:
        return found
    if cells.dtype.kind in "iubUS":
        values, codes = np.unique(cells, return_inverse=True)
        return codes.astype(np.int64, copy=False), values.tolist()
    known: dict[Any, int] = {}
    codes = np.empty(len(cells), dtype=np.int64)
    for row, cell in enumerate(cells):
        if is_missing(cell):
            raise ValueError(f"{what} is missing in row {row}, expected a name")
        codes[row] = known.setdefault(cell, len(known))
    return _in_order(codes, list(known))


def _of_range(cells: npt.NDArray[Any]) -> tuple[Ints, list[Any]] | None:
    """The same for numbers that lie close together: counted, not sorted, in a fraction of the room."""
    low, high = (int(cells.min()), int(cells.max())) if len(cells) else (0, 0)
    if low < 0 or high > 2 * len(cells):
        return None
    indices = np.zeros(high + 1, dtype=np.int64)
    indices[cells] = 1
    values = np.flatnonzero(indices)
    if len(values) == high + 1:
        return cells.astype(np.int64, copy=False), values.tolist()
    indices[values] = np.arange(len(values))
    return indices[cells], values.tolist()


def _in_order(codes: Ints, values: list[Any]) -> tuple[Ints, list[Any]]:
    try:
        order = sorted(range(len(values)), key=lambda index: values[index])
    except TypeError:
        order = sorted(range(len(values)), key=lambda index: str(values[index]))
    indices = np.empty(len(values), dtype=np.int64)
    indices[order] = np.arange(len(values))
    return indices[codes], [values[index] for index in order]
