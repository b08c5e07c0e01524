"""The folder of a run, opened: of the command, or of `Run.save`."""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from . import _fedgrid as native
from ._frames import name_of, shown
from ._work import Work
from .comparison import Comparison
from .run import Run


#: The sums that stand for the rows of a run.
STATISTICS = "statistics.json"
#: Models of Python's, as a site of a federation keeps them.
PYTHON_MODELS = "python.pkl"


class FolderRun(Run):
    """A run that was read from its folder; see `Run.load`. The folder may be moved or go away afterwards."""

    def __init__(self, folder: Path) -> None:
        if not (folder / "result.json").is_file():
            raise FileNotFoundError(f"{str(folder)!r} holds no finished run; make one with fedgrid fit, or Run.save")
        own = self._own_models(folder)
        name, self._advised, self._names = own.methods()
        #: All methods are read now, because the folder may be another later.
        self._by_name = {one: own if one == name else native.Kept.load(folder, one) for one in self._names}
        for one in self._by_name.values():
            one.read_all()
        self._files = _read(folder)
        #: Where it was read, for the rows that its experiment names from there.
        self._folder = folder.resolve()
        self._compared = Comparison(native.Outcome.restore(self._files["result.json"].decode()))
        result = self._compared.result
        about = json.loads(own.about())
        self.method: Any = None
        self.network: Any = None
        self.nodes_ = [one["name"] for one in result["nodes"]]
        self.classes_ = np.array(about["classes"]) if about["classes"] else None
        self.features_ = about["features"]
        self._sources, self._lags = own.sources()
        self.kind_ = result["method"]["kind"]
        self.strength_ = result["method"]["alpha"]
        self.ridge_ = result["method"].get("ridge")
        self.seconds = result["seconds"]
        self._node_name, self._named, self._python = about["node"], True, False
        self._work = Work(None, (), False)
        self._study = None
        self._models = own.models(self.nodes_)
        self._intervals = None
        self._experiment = self._files["experiment.toml"].decode()
        self._notes = result["notes"]
        self._details = {
            "certificate": result["certificate"], "rounds": result.get("history", []),
            "residuals": result["residuals"], "steps": result.get("steps", []),
            "engine": result["method"]["engine"], "variances": result.get("variances"),
            "clusters": [one.get("cluster") for one in result["nodes"]] if result.get("clusters") else None,
        }  # fmt: skip

    def _own_models(self, folder: Path) -> native.Kept:
        """The models of the run's own method."""
        if (folder / PYTHON_MODELS).is_file():
            raise ValueError(
                f"{str(folder)!r} holds models of Python's in {PYTHON_MODELS}, which runs code as it is read: open it with "
                "fg.federation.load, if you trust it"
            )
        return native.Kept.load(folder)

    @property
    def _strength_name(self) -> str | None:
        names = {kind: strength for kind, strength, *_ in native.methods()}
        return names.get(self.kind_)

    @property
    def advised_(self) -> str:
        """The method that the verdict advises; the run's own where it is undecided."""
        return self._advised

    def _own_name(self) -> str:
        return self._names[0]

    def _kept(self, use: str | None, stands_in: bool, always: bool = False) -> native.Kept:
        wanted = self._advised if use in (None, "advised") else use
        if wanted not in self._by_name:
            raise ValueError(f"use is {use!r}, expected {shown([*self._names, 'advised'])}")
        found = self._by_name[wanted]
        if wanted != self._names[0] and use != wanted:
            warnings.warn(found.note(), stacklevel=3)
        return found

    def coefficients(self) -> dict[str, Any]:
        """As `Run.coefficients`; from `coefficients.csv`."""
        text = self._files.get("coefficients.csv", b"").decode()
        rows = list(csv.DictReader(text.splitlines()))
        names = list(rows[0]) if rows else ["node", "coefficient", "value", "standard_error"]
        found: dict[str, Any] = {name: [row[name] for row in rows] for name in names}
        for name in ("value", "standard_error"):
            found[name] = np.array([float(cell) if cell else np.nan for cell in found[name]])
        return found

    def node(self, name: Any) -> dict[str, Any]:
        """As `Run.node`. Importance and neighbours need the tables of the run, which are looked for from where its folder
        was read; where they are not found, a note among `notes` says so."""
        result = self._folder / "result.json"
        if result.is_file() and result.read_bytes() == self._files["result.json"]:
            found: dict[str, Any] = native.node(self._folder, name_of(name))
            return found
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made) / self._folder.name
            _write(folder, self._files)
            found = native.node(folder, name_of(name))
            return found

    def report(self, path: str | Path, title: str = "fedgrid", compare: bool = True) -> Path:
        """Writes the page of the run, as its folder has it; its title is that of the run."""
        Path(path).write_bytes(self._files["report.html"])
        return Path(path)

    def save(
        self, folder: str | Path, title: str | None = None, *, compare: bool = True, force: bool = False
    ) -> Path:
        """Writes the files of the run to another folder."""
        folder = Path(folder)
        if folder.exists() and not force:
            raise FileExistsError(f"{str(folder)!r} exists: replace it with force=True")
        if folder.exists():
            if not (folder / "metrics.jsonl").is_file():
                raise ValueError(f"{str(folder)!r} is not the folder of a run; force=True replaces only runs")
            shutil.rmtree(folder)
        _write(folder, self._files)
        return folder

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
        """As `Run.update`. Where sums do not stand for the rows of the run, these are read again from where its experiment
        says, so that its folder must be where it was."""
        from ._update import updated

        columns = json.loads(self._files["models/about.json"]).get("columns", {})
        # Lags look back at rows, which are found from where the folder is.
        looks_back = columns.get("lags") is not None and history is None
        if STATISTICS in self._files and not tune and not looks_back:
            with tempfile.TemporaryDirectory() as made:
                folder = Path(made) / self._folder.name
                _write(folder, self._files)
                return updated(self, folder, None, data, nodes, edges, history, repeated, tune, all_methods)
        result = self._folder / "result.json"
        if not result.is_file() or result.read_bytes() != self._files["result.json"]:
            raise RuntimeError(
                f"{str(self._folder)!r} no longer holds the run, from where its rows would be read again; load it where it is"
            )
        return updated(self, self._folder, None, data, nodes, edges, history, repeated, tune, all_methods)

    def __reduce__(self) -> tuple[Any, ...]:
        # Sums tell of rows, and stay in the folder of the run.
        return _restored, ({name: text for name, text in self._files.items() if name != STATISTICS},)


def _read(folder: Path) -> dict[str, bytes]:
    """The files of a run by their names below its folder."""
    files = [*folder.glob("*"), *(folder / "models").glob("*")]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files if path.is_file()}


def _write(folder: Path, files: dict[str, bytes]) -> None:
    # The result goes last, because it says that the run is whole.
    for name in sorted(files, key=lambda name: name == "result.json"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files[name])


def _restored(files: dict[str, bytes]) -> FolderRun:
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), files)
        return FolderRun(Path(folder))
