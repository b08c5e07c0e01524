"""From what a user has to the rows of every node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._frames import (
    Floats,
    Handed,
    Ints,
    Table,
    coded,
    handed,
    is_missing,
    is_table,
    matrix,
    name_of,
    numbers,
    shown,
    stacked,
)
from ._network import Network
from ._plain import scalar

ROLES = {
    "train": 0, "training": 0, "val": 1, "valid": 1, "validation": 1, "test": 2,
}  # fmt: skip


@dataclass
class Rows:
    """The rows of all nodes, column by column."""

    nodes: Ints
    found: list[Any]
    #: The columns that may be features.
    columns: list[Handed]
    target: npt.NDArray[Any]
    roles: Ints | None
    node_name: str = "node"
    target_name: str = "target"
    split_name: str | None = None
    #: Whether the features were given with names.
    named: bool = True
    #: The features that are asked for; none asks for all columns.
    features: list[str] | None = None
    #: How rows are divided by time, as an experiment file has it.
    time_split: dict[str, Any] | None = None
    #: How many rows each one stands for, and what is known of each target, with the names of their columns.
    weights: Floats | None = None
    known: Floats | None = None
    weight_name: str | None = None
    offset_name: str | None = None
    exposure_name: str | None = None


def rows(
    data: Any,
    target: Any,
    node: Any,
    features: Sequence[Any] | None,
    split: Any,
    needed: Sequence[Any] = (),
    weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
) -> Rows:
    """The rows of a frame with a node column, or of a dict of (X, y) for each node.

    Some columns are needed whether or not they are features, such as those of times and of lags.
    """
    if offset is not None and exposure is not None:
        raise ValueError("offset and exposure exclude each other: an exposure is an offset of its logarithm")
    further = {"weight": weight, "offset": offset, "exposure": exposure}
    if isinstance(split, Mapping) and "by" in split:
        read = rows(data, target, node, features, None, needed, **further)
        read.time_split = {str(key): _written(value) for key, value in split.items()}
        return read
    if isinstance(data, Mapping) and data and all(is_pair(value) for value in data.values()):
        return _of_pairs(data, features, split, further)
    table = Table(data)
    if not len(table):
        raise ValueError("the frame has no row")
    if target is None:
        raise ValueError("target is missing, expected the name of the column to predict")
    column = node if not is_name(node, table) else table.column(node)
    if node is None:
        codes, found = np.zeros(len(table), dtype=np.int64), ["all"]
    else:
        codes, found = coded(column)
    taken = [name for name in (node, target, split, *further.values()) if is_name(name, table)]
    wished = None if features is None else list(features)
    for name in wished or []:
        if any(name is other or name == other for other in taken):
            what = "the node, the target or the split"
            what = next((f"the {key}" for key, own in further.items() if own is name or own == name), what)
            raise ValueError(f"feature {name!r} is already {what}")
    others = [name for name in table.names if not _in(name, taken)]
    # A name asks for one column; patterns and the plan look at all of them.
    if wished is not None and not any(_is_pattern(name, table) for name in wished):
        more = [name for name in needed if not _in(name, taken) and not _in(name, wished)]
        others = wished + list(dict.fromkeys(more))
    wanted = table.column(target) if is_name(target, table) else np.asarray(target)
    parts = split if not is_name(split, table) else table.column(split)
    extra = {key: _numbers_of(column, table, key) for key, column in further.items()}
    _same_length(len(table), node=codes, target=wanted, split=parts, **extra)
    return Rows(
        nodes=codes,
        found=found,
        columns=[handed(table.column(name), str(name)) for name in others],
        features=None if wished is None else [str(name) for name in wished],
        target=wanted,
        roles=None if parts is None else roles(parts),
        node_name=str(node) if is_name(node, table) else "node",
        target_name=str(target) if is_name(target, table) else "target",
        split_name=str(split) if is_name(split, table) else None,
        **_further(extra, {key: str(own) for key, own in further.items() if is_name(own, table)}),
    )


def _written(value: Any) -> Any:
    """A date as files write it; everything else as it is."""
    value = scalar(value)
    return str(value.isoformat()) if hasattr(value, "isoformat") else value


def _numbers_of(column: Any, table: Table, what: str) -> Floats | None:
    """A number for each row, from a column of the table or given by itself."""
    if column is None:
        return None
    if is_name(column, table):
        return numbers(table.column(column), f"{what} {column!r}")
    return numbers(np.asarray(column), what)


def _further(extra: Mapping[str, Floats | None], names: Mapping[str, str]) -> dict[str, Any]:
    """What is known of rows besides their features."""
    found: dict[str, Any] = {"weights": extra["weight"]}
    found["known"] = extra["exposure"] if extra["offset"] is None else extra["offset"]
    for key, given in extra.items():
        found[f"{key}_name"] = None if given is None else names.get(key, key)
    return found


def _same_length(rows: int, **columns: Any) -> None:
    for name, column in columns.items():
        if column is not None and len(column) != rows:
            raise ValueError(f"{name} has {len(column)} rows, expected {rows}")


def is_pair(value: Any) -> bool:
    """Whether it is the X and the y of a node."""
    # A column may be a tuple of two numbers.
    return (
        isinstance(value, tuple) and len(value) == 2 and (is_table(value[0]) or np.ndim(value[0]) > 0)
    )


def is_name(name: Any, table: Table) -> bool:
    """Whether it names a column, and is not one."""
    return name is not None and (isinstance(name, (str, int, np.integer)) or _in(name, table.names))


def _is_pattern(name: Any, table: Table) -> bool:
    return isinstance(name, str) and any(letter in name for letter in "*?") and name not in table.names


def _in(name: Any, names: list[Any]) -> bool:
    try:
        return name in names
    except (TypeError, ValueError):
        return False


def _of_pairs(
    data: Mapping[Any, tuple[Any, Any]], features: Sequence[Any] | None, split: Any, further: Mapping[str, Any]
) -> Rows:
    nodes, parts, targets, cells = [], [], [], []
    extra: dict[str, list[Any]] = {key: [] for key, given in further.items() if given is not None}
    names: list[str] | None = None
    named = True
    for index, (node, (X, y)) in enumerate(data.items()):
        columns, own = matrix(X, f"X of node {node!r}")
        rows = len(columns[0]) if columns else 0
        y = np.asarray(y)
        y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        if y.shape != (rows,):
            raise ValueError(f"node {node!r}: y has shape {y.shape}, expected ({rows},)")
        if split is not None:
            cells.append(_part(split, node, rows, "split", "words"))
        for key, given in extra.items():
            given.append(_part(further[key], node, rows, key, "numbers"))
        if not rows:
            continue
        if names is None:
            names, named = own, is_table(X)
        nodes.append(np.full(rows, index, dtype=np.int64))
        parts.append(_in_order(columns, own, names, node))
        targets.append(y)
    if names is None:
        raise ValueError("no node has a row")
    whole = dict(zip(names, zip(*parts)))
    return Rows(
        nodes=np.concatenate(nodes),
        found=list(data),
        columns=[handed(stacked(whole[name]), name) for name in names],
        features=None if features is None else [str(name) for name in features],
        target=np.concatenate(targets),
        roles=None if split is None else roles(np.concatenate(cells)),
        named=named,
        **_further(
            {key: numbers(np.concatenate(extra[key]), key) if key in extra else None for key in further}, {}
        ),
    )


def _part(given: Any, node: Any, rows: int, name: str, what: str) -> npt.NDArray[Any]:
    """What was given for the rows of a node."""
    if not isinstance(given, Mapping) or node not in given:
        raise ValueError(f"{name} has no {what} for node {node!r}, expected a dict with those of each node")
    cells = np.asarray(given[node], dtype=object)
    if cells.shape != (rows,):
        raise ValueError(f"node {node!r}: {name} has shape {cells.shape}, expected ({rows},)")
    return cells


def _in_order(
    columns: list[npt.NDArray[Any]], own: list[str], names: list[str], node: Any
) -> list[npt.NDArray[Any]]:
    """A node's columns in the order of the first node's."""
    if own == names:
        return columns
    for name in names:
        if name not in own:
            raise ValueError(f"X of node {node!r} has no column {name!r}, expected {shown(names)}")
    for name in own:
        if name not in names:
            raise ValueError(
                f"X of node {node!r} has a column {name!r}, which others have not: {shown(names)}"
            )
    return [columns[own.index(name)] for name in names]


def roles(cells: Any) -> Ints:
    """What each row is for, from words."""
    codes, words = coded(cells, "the split")
    known = []
    for word in words:
        role = ROLES.get(str(word).lower())
        if role is None:
            raise ValueError(f"the split is {word!r}, expected train, val or test")
        known.append(role)
    return np.asarray(known, dtype=np.int64)[codes]


def node_indices(codes: Ints, found: list[Any], network: Network) -> Ints:
    """The index in the network of each row's node."""
    if found == network.nodes:
        return codes
    known = {name_of(node): index for index, node in enumerate(network.nodes)}
    for node in found:
        if name_of(node) not in known:
            raise ValueError(
                f"node {node!r} has rows and is not in the network, "
                f"which has {shown(network.nodes)}"
            )
    indices = np.array([known[name_of(node)] for node in found], dtype=np.int64)
    return indices[codes] if len(indices) else codes


def labels(
    target: npt.NDArray[Any], classification: bool | None, name: str
) -> tuple[Floats, npt.NDArray[Any] | None]:
    """The target as numbers, and the classes if there are any."""
    cells = target[:, 0] if target.ndim == 2 and target.shape[1] == 1 else target
    if cells.ndim != 1:
        raise ValueError(f"{name} has shape {cells.shape}, expected one value per row")
    if classification is None:
        classification = cells.dtype.kind in "bUST" or (
            cells.dtype.kind == "O" and any(isinstance(cell, str) for cell in cells)
        )
    if not classification:
        return numbers(cells, name), None
    if cells.dtype.kind == "f" and np.isnan(cells).any() or cells.dtype.kind == "O":
        row = next((k for k, cell in enumerate(cells) if is_missing(cell)), None)
        if row is not None:
            raise ValueError(f"{name} is missing in row {row}, expected a class")
    codes, found = coded(cells, name)
    classes = np.asarray(found)
    if len(classes) < 2:
        raise ValueError(f"{name} holds one class, {shown(found)}, expected at least two")
    if 2 * len(classes) > len(cells):
        raise ValueError(
            f"{name} holds {len(classes)} classes in {len(cells)} rows, expected fewer; use Linear or "
            "Tree for numbers"
        )
    return codes.astype(np.float64), classes
