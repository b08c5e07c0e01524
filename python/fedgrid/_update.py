"""Further rows and nodes for a run: what `fedgrid update` does, with rows that are in memory."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _fedgrid as native
from ._frames import Handed, Table, coded, handed, name_of, shown
from ._predictions import near
from ._rows import is_pair, rows

if TYPE_CHECKING:
    from .run import Run


def updated(
    run: Run,
    folder: Path,
    study: Any,
    data: Any,
    nodes: Any,
    edges: Any,
    history: Any,
    repeated: str,
    tune: bool,
    all_methods: bool,
) -> Run:
    """The run of a folder with the rows of `data` added; `study` holds its rows, where the folder cannot name them, and
    `history` those of the time before, where it has lags."""
    from ._folder import FolderRun

    kept = native.Kept.load(folder)
    with tempfile.TemporaryDirectory() as made:
        out = Path(made) / "updated"
        parts = {
            "folder": folder, "out": out, "title": folder.name, "rows": _added(run, kept, data),
            "near": near(nodes, edges), "repeated": repeated, "tune": tune, "all_methods": all_methods,
            "history": None if history is None else _named(run, json.loads(kept.about()), Table(history), ("node",)),
        }  # fmt: skip
        native.update(kept, parts, run._work.quiet(), study)
        return FolderRun(out)


def _added(run: Run, kept: native.Kept, data: Any) -> tuple[list[str], Any, list[Handed]]:
    """Rows with their targets, as a table with the columns that the run was trained on."""
    about = json.loads(kept.about())
    if isinstance(data, Mapping) and data and all(is_pair(value) for value in data.values()):
        read = rows(data, None, None, None, None)
        columns = read.columns
        if not read.named and len(columns) == len(run._sources):
            columns = [(name, kind, cells) for name, (_, kind, cells) in zip(run._sources, columns)]
        columns = [*columns, handed(read.target, about["target"])]
        return [name_of(node) for node in read.found], read.nodes, columns
    return _named(run, about, Table(data), ("node", "target"))


def _named(run: Run, about: Any, table: Table, needed: tuple[str, ...]) -> tuple[list[str], Any, list[Handed]]:
    """The rows of a table with the names of their nodes."""
    text = {str(name): name for name in table.names}
    for what in needed:
        name = about[what]
        # A run of one node may have no column of it.
        if name not in text and (what == "target" or len(run.nodes_) > 1):
            raise ValueError(f"there is no column {name!r}, the {what} of the run, expected one in {shown(table.names)}")
    codes, found = (np.zeros(len(table), dtype=np.int64), run.nodes_)
    if about["node"] in text:
        codes, found = coded(table.column(text[about["node"]]))
    others = [name for name in text if name != about["node"]]
    columns = [handed(table.column(text[name]), name) for name in others]
    return [name_of(node) for node in found], codes.astype(np.int64), columns
