"""Experiments at several values and seeds, and finished runs side by side."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import _fedgrid as native
from ._work import Work
from .run import Run


class Sweep:
    """An experiment at several values of its keys and several seeds: `rows` has the means of each case.

    `folder` holds the same as files (table.csv, table.md, table.tex, plot.svg, plot.pdf, cells.csv); `result` is all of it,
    as `fedgrid sweep --json` gives it.
    """

    def __init__(self, folder: Path, result: dict[str, Any], table: str) -> None:
        self.folder = folder
        self.result = result
        self._table = table

    def rows(self) -> list[dict[str, Any]]:
        """One row per case and method: the values of the keys, the mean error over seeds, its standard error, and how many
        seeds could be run."""
        names = [key for key, _ in self.result["keys"]]
        return [
            {**dict(zip(names, case["values"])), "metric": case["metric"], "method": method, **mean}
            for case in self.result["cases"]
            for method, mean in case["errors"]
        ]

    @property
    def notes(self) -> list[str]:
        """What the seeds vary, and what else a reader must know."""
        return list(self.result["notes"])

    @property
    def failed(self) -> list[dict[str, Any]]:
        """Seeds that could not be run: the `values` of their case, `seeds` and the `reason`."""
        cases = self.result["cases"]
        return [{"values": case["values"], **one} for case in cases for one in case["failed"]]

    def to_pandas(self) -> Any:
        """The rows as a pandas frame."""
        import pandas

        return pandas.DataFrame(self.rows())

    def __str__(self) -> str:
        return self._table

    def __repr__(self) -> str:
        return f"Sweep({len(self.result['cases'])} cases, {len(self.result['seeds'])} seeds)"

    def _repr_html_(self) -> str:
        return (self.folder / "plot.svg").read_text(encoding="utf-8")


def sweep(
    experiment: str | Path,
    keys: Mapping[str, Any],
    *,
    seeds: int = 1,
    out: str | Path,
    force: bool = False,
    resume: bool = False,
    n_jobs: int | None = None,
) -> Sweep:
    """Runs an experiment file at every combination of values, at so many seeds each, as `fedgrid sweep` does.

    `keys` has a value or a list of values for each key, such as `{"network.nearest": [4, 8, 16], "method.kind": "gtv"}`. A
    list that is itself a value stands in a list: `{"data.features": [["x", "z"], ["x"]]}`. `out` is the folder; `resume`
    goes on with one that was interrupted, `force` replaces it. Frames in memory cannot be swept: write them to a file.
    """
    parts = {
        "experiment": Path(experiment), "set": [f"{key}={_values(value)}" for key, value in keys.items()],
        "seeds": int(seeds), "out": Path(out), "force": force, "resume": resume,
    }  # fmt: skip
    result, table, note = native.sweep(parts, Work(n_jobs, (), False).quiet())
    if note is not None:
        warnings.warn(note, stacklevel=2)
    found = Sweep(Path(out), json.loads(result), table)
    if found.failed:
        one = found.failed[0]
        more = sum(len(each["seeds"]) for each in found.failed)
        warnings.warn(f"{more} cells could not be run; the first: {one['reason']}", stacklevel=2)
    return found


def _values(value: Any) -> str:
    """A value, or several, as the text behind `--set key=`."""
    if isinstance(value, (list, tuple)):
        return ",".join(_toml(one) for one in value)
    return _toml(value)


def _toml(value: Any) -> str:
    # JSON's numbers, truths, text and lists are TOML's.
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    return json.dumps(value.item() if hasattr(value, "item") else value)


class SideBySide:
    """Finished runs side by side: `rows` has a dict for each, `result` all of it, as `fedgrid compare --json` gives it."""

    def __init__(self, result: dict[str, Any], table: str) -> None:
        self.result = result
        self._table = table

    def rows(self) -> list[dict[str, Any]]:
        """One row per run: its name, method, verdict and advised method, and the error of each method."""
        return [_row(run) for run in self.result["runs"]]

    @property
    def notes(self) -> list[str]:
        """What keeps runs from being compared, such as other tables."""
        return list(self.result["notes"])

    def to_pandas(self) -> Any:
        """The rows as a pandas frame."""
        import pandas

        return pandas.DataFrame(self.rows()).set_index("run")

    def __str__(self) -> str:
        return self._table


def _row(run: dict[str, Any]) -> dict[str, Any]:
    errors: dict[str, Any] = {}
    for name, entry in run["comparison"].items():
        entries = {f"network ({kind})": one for kind, one in entry.items()} if name == "members" else {name: entry}
        for method, one in (entry if name == "baselines" else entries).items():
            errors[method] = one["validation"] if one.get("test") is None else one["test"]
    own = {name: run.get(name) for name in ("method", "verdict_kind", "advised", "metric", "seed")}
    return {"run": run["name"], **own, **errors}


def compare_runs(runs: Iterable[str | Path | Run]) -> SideBySide:
    """Puts finished runs side by side: folders of runs, or runs, which are compared where they are not yet."""
    with tempfile.TemporaryDirectory() as made:
        folders = []
        for place, run in enumerate(runs):
            if isinstance(run, Run):
                name = f"run {place + 1}"
                folders.append(run.save(Path(made) / name, name) if run._study is not None else run.save(Path(made) / name))
            else:
                folders.append(Path(run))
        if len(folders) < 2:
            raise ValueError(f"runs has length {len(folders)}, expected two or more")
        result, table = native.compare_runs(folders)
    return SideBySide(json.loads(result), table)
