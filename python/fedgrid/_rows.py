"""From what a user has to the rows of every node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._frames import Floats, Ints, Table, coded, is_missing, matrix, name_of, numbers, shown
from ._network import Network

ROLES = {
    "train": 0, "training": 0, "val": 1, "valid": 1, "validation": 1, "test": 2,
}  # fmt: skip


@dataclass
class Rows:
    """The rows of all nodes, column by column."""

    nodes: Ints
    found: list[Any]
    columns: list[Floats]
    names: list[str]
    target: npt.NDArray[Any]
    roles: Ints | None
    node_name: str = "node"
    target_name: str = "target"
    split_name: str | None = None


def rows(
    data: Any,
    target: Any,
    node: Any,
    features: Sequence[Any] | None,
    split: Any,
) -> Rows:
    """The rows of a frame with a node column, or of a dict of (X, y) for each node."""
    if isinstance(data, Mapping) and data and all(_is_pair(value) for value in data.values()):
        return _of_pairs(data, split)
    table = Table(data)
    if not len(table):
        raise ValueError("the frame has no row")
    if target is None:
        raise ValueError("target is missing, expected the name of the column to predict")
    column = node if not _is_name(node, table) else table.column(node)
    if node is None:
        codes, found = np.zeros(len(table), dtype=np.int64), ["all"]
    else:
        codes, found = coded(column)
    taken = [name for name in (node, target, split) if _is_name(name, table)]
    chosen = table.numeric(taken) if features is None else list(features)
    for name in chosen:
        if any(name is other or name == other for other in taken):
            raise ValueError(f"feature {name!r} is already the node, the target or the split")
    if not chosen:
        raise ValueError("there is no numeric column besides node, target and split")
    wanted = table.column(target) if _is_name(target, table) else np.asarray(target)
    parts = split if not _is_name(split, table) else table.column(split)
    _same_length(len(table), node=codes, target=wanted, split=parts)
    return Rows(
        nodes=codes,
        found=found,
        columns=[table.numbers(name) for name in chosen],
        names=[str(name) for name in chosen],
        target=wanted,
        roles=None if parts is None else roles(parts),
        node_name=str(node) if _is_name(node, table) else "node",
        target_name=str(target) if _is_name(target, table) else "target",
        split_name=str(split) if _is_name(split, table) else None,
    )


def _same_length(rows: int, **columns: Any) -> None:
    for name, column in columns.items():
        if column is not None and len(column) != rows:
            raise ValueError(f"{name} has {len(column)} rows, expected {rows}")


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2


def _is_name(name: Any, table: Table) -> bool:
    return name is not None and (isinstance(name, (str, int)) or _in(name, table.names))


def _in(name: Any, names: list[Any]) -> bool:
    try:
        return name in names
    except (TypeError, ValueError):
        return False


def _of_pairs(data: Mapping[Any, tuple[Any, Any]], split: Any) -> Rows:
    nodes, parts, targets = [], [], []
    names: list[str] | None = None
    for place, (node, (X, y)) in enumerate(data.items()):
        columns, own = matrix(X, f"X of node {node!r}")
        rows = len(columns[0]) if columns else 0
        y = np.asarray(y)
        y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        if y.shape != (rows,):
            raise ValueError(f"node {node!r}: y has shape {y.shape}, expected ({rows},)")
        if rows and names is not None and own != names:
            raise ValueError(f"node {node!r} has the features {shown(own)}, expected {shown(names)}")
        names = own if names is None or rows else names
        if rows:
            nodes.append(np.full(rows, place, dtype=np.int64))
            parts.append(columns)
            targets.append(y)
    if not parts:
        raise ValueError("no node has a row")
    roles_ = None
    if split is not None:
        cells = [np.asarray(split[node], dtype=object) for node in data]
        roles_ = roles(np.concatenate(cells))
    return Rows(
        nodes=np.concatenate(nodes),
        found=list(data),
        columns=[np.concatenate(column) for column in zip(*parts)],
        names=names or [],
        target=np.concatenate(targets),
        roles=roles_,
    )


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


def placed(codes: Ints, found: list[Any], network: Network) -> Ints:
    """The place in the network of each row's node."""
    if found == network.nodes:
        return codes
    known = {name_of(node): place for place, node in enumerate(network.nodes)}
    for node in found:
        if name_of(node) not in known:
            raise ValueError(
                f"node {node!r} has rows and is not in the network, "
                f"which has {shown(network.nodes)}"
            )
    places = np.array([known[name_of(node)] for node in found], dtype=np.int64)
    return places[codes] if len(places) else codes


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
    return codes.astype(np.float64), classes
