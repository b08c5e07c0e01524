"""Federations from Python: the commands of `fedgrid federation`, and sites whose models are Python's.

>>> import fedgrid as fg
>>> from sklearn.ensemble import RandomForestRegressor
>>> run = fg.federation.join("home/kits/ann", rows, model=RandomForestRegressor(min_samples_leaf=8))  # doctest: +SKIP

Every flag of the command is an argument: `--checkpoint-every 50` is `checkpoint_every=50`. As a program that needs no
other, with the command's exit codes (2 for wrong input, 75 for what may pass by itself):

    python -m fedgrid.federation join home/kits/ann --data ann.csv --model module:factory
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from . import _fedgrid as native
from ._folder import PYTHON_MODELS, FolderRun, _read, _write
from ._frames import Table, handed, is_table, name_of, shown
from ._study import adapters, builtin
from ._work import Work, limits
from .adapters import PICKLE

__all__ = ["SiteRun", "TryLater", "check", "describe", "join", "load", "new", "status", "stop"]

if not hasattr(native, "federation"):
    raise ImportError("this build of fedgrid has no federations: build it with the feature federation, its default")

#: Exit codes of the command.
WRONG, LATER, INTERRUPTED = 2, 75, 130


class _Mistake(ValueError):
    """What is wrong with what the caller gave, and with no model."""


class TryLater(RuntimeError):
    """What may pass by itself: no link, no space, a folder in use."""


class SiteRun(FolderRun):
    """What a site is left with: a run folder whose models may be Python's."""

    def __init__(self, folder: Path, python: Mapping[str, Any] | None = None) -> None:
        self._python_models = python
        super().__init__(folder)
        self._python = bool(self._python_models)

    def _own_models(self, folder: Path) -> native.Kept:
        own = native.Kept.load(folder)
        if self._python_models is None:
            file = folder / PYTHON_MODELS
            self._python_models = pickle.loads(file.read_bytes()) if file.is_file() else {}
        return own.with_python(list(self._python_models.items()))

    @property
    def verdict(self) -> str:
        """Whether the federation has helped this site."""
        return str(self.result["verdict"])

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._files, dict(self._python_models or {}))


def _restored(files: dict[str, bytes], python: dict[str, Any]) -> SiteRun:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), files)
        return SiteRun(Path(folder), python)


def load(folder: str | Path) -> SiteRun:
    """The run of a site from its folder. Models of Python's are read from `python.pkl`, which runs the code that it holds:
    load only what you trust."""
    return SiteRun(Path(folder))


def join(
    kit: str | Path,
    data: Any,
    *,
    model: Any = None,
    out: str | Path | None = None,
    waive_floor: str | Sequence[str] = (),
    n_jobs: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> SiteRun | None:
    """Takes part in a federation with a kit and the site's own rows, until all have their end.

    `data` is a table, or the path of a file. `model` is a model for all nodes of this site, or a dict from node to model,
    with `...` for all others; nodes without one have that of the experiment. It is whatever `fit` takes, and the
    experiment must say `own_models = true` in `[federation]`. Before anything is sent, each is fitted some forty times to
    see what its predictions tell of single rows; `waive_floor` names nodes for which nobody looks. All other arguments are
    flags of the command: `health=8080`, `share=True`, `force=True`, `listen="0.0.0.0:7447"`, `ledgers`, `scouting`.

    What comes back is the run of this site, or None if it was told to stop (`fg.federation.stop`): the same call goes on
    from the state in its folder, as it does after Ctrl-C or a crash.
    """
    arguments = [os.fspath(kit)]
    if out is not None:
        options["out"] = out
    names = [waive_floor] if isinstance(waive_floor, str) else list(waive_floor)
    if names:
        options["waive_floor"] = ",".join(map(str, names))
    columns = None
    if isinstance(data, (str, os.PathLike)):
        options["data"] = data
    else:
        options["data"] = "the frame"
        columns = _columns(data)
    found: dict[str, Any] = {}

    def keep(folder: Any, nodes: list[str], models: native.Models) -> str | None:
        learnt = {name: models.export(place) for place, name in enumerate(nodes)}
        found.update(folder=Path(folder), python={name: own for name, own in learnt.items() if not isinstance(own, str)})
        return _kept(found["folder"], found["python"])

    said = _Said(progress is False)
    host = {"columns": columns, "models": None if model is None else _Models(model), "keep": keep}
    with limits(model is not None):
        _run(["join", *arguments, *_flags(options)], said, host, n_jobs)
    if not found or not (found["folder"] / "result.json").is_file():
        return None
    return SiteRun(found["folder"], found["python"])


def new(experiment: str | Path, **options: Any) -> dict[str, Any]:
    """Makes a project: keys, certificates, the signed manifest and one kit per site. Arguments are the flags of the
    command, such as `sites="sites.toml"`, `out="home"`, `set=["method.alpha=3"]`, `processes=4`."""
    found: dict[str, Any] = _asked(["new", os.fspath(experiment)], options)
    return found


def describe(experiment: str | Path, data: str | Path, **options: Any) -> dict[str, Any]:
    """Says in a file (`out`) what the columns of a site's own rows hold, which is what the caller agrees to tell."""
    found: dict[str, Any] = _asked(["describe", os.fspath(experiment)], {"data": data, "yes": True, **options})
    return found


def check(kit: str | Path, data: Any) -> dict[str, Any]:
    """Looks whether a site's own rows fit the plan of its kit; nothing is sent."""
    found: dict[str, Any] = _asked(["check", os.fspath(kit)], {"data": data})
    return found


def status(project: str | Path) -> list[dict[str, Any]]:
    """Who is there, how far, and how stale."""
    found: list[dict[str, Any]] = _asked(["status", os.fspath(project)], {})
    return found


def stop(project: str | Path) -> dict[str, Any]:
    """Tells all sites to keep their state and end; `join` starts them again."""
    found: dict[str, Any] = _asked(["stop", os.fspath(project)], {})
    return found


# From Python to the command ---------------------------------------------------------------------


class _Said:
    """Hears what a command says, and prints it unless it is to be silent."""

    def __init__(self, silent: bool) -> None:
        self.silent = silent
        self.results: list[str] = []

    def __call__(self, kind: str, text: str, is_progress: int) -> None:
        if kind != "said":
            return
        if not is_progress:
            self.results.append(text)
        if not self.silent:
            print(text, file=sys.stderr if is_progress else sys.stdout, flush=True)


def _refused(
    arguments: list[str], said: _Said, host: Mapping[str, Any] | None = None, n_jobs: int | None = None
) -> tuple[int, str] | None:
    """Runs a command: None at its end, or its exit code and why."""
    parts = host or {"columns": None, "models": None, "keep": None}
    how = {"threads": Work(n_jobs).threads, "listener": said}
    return native.federation(arguments, dict(parts), how)


def _run(
    arguments: list[str], said: _Said, host: Mapping[str, Any] | None = None, n_jobs: int | None = None
) -> None:
    """The same; what is refused is an exception."""
    refused = _refused(arguments, said, host, n_jobs)
    if refused is not None:
        code, message = refused
        if code == INTERRUPTED:
            raise KeyboardInterrupt(message)
        raise {WRONG: ValueError, LATER: TryLater}.get(code, RuntimeError)(message)


def _asked(arguments: list[str], options: Mapping[str, Any]) -> Any:
    """What a command gives as JSON."""
    said = _Said(True)
    _run([*arguments, *_flags(options), "--json"], said)
    return json.loads("\n".join(said.results))


def _flags(options: Mapping[str, Any]) -> list[str]:
    """Arguments as the command takes them."""
    found: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            found.append(flag)
        elif isinstance(value, (list, tuple)):
            # Of flags that may be given several times.
            found.extend(f"{flag}={_text(one)}" for one in value)
        else:
            found.append(f"{flag}={_text(value)}")
    return found


def _text(value: Any) -> str:
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _columns(data: Any) -> list[Any]:
    if not is_table(data) and not isinstance(data, Mapping):
        raise TypeError(f"data is a {type(data).__name__}, expected a table, or the path of a file")
    table = Table(data)
    return [handed(table.column(name), str(name)) for name in table.names]


class _Models:
    """Makes the models of a site, once its nodes are known."""

    def __init__(self, model: Any) -> None:
        self.given = dict(model) if isinstance(model, Mapping) and "kind" not in model else {...: model}
        for node, spec in self.given.items():
            if spec is not None and builtin(spec) is not None:
                where = "[model]" if node is ... else f"[model.nodes.{name_of(node)}]"
                raise _Mistake(
                    f"model is a built-in one ({spec}), which only the experiment can say, so that all sites "
                    f"know it: kind = ... in {where}"
                )

    def __call__(self, about: str) -> list[tuple[int, Any]]:
        site = json.loads(about)
        names = {index: name for index, name in site["nodes"]}
        named = {name_of(node): spec for node, spec in self.given.items() if node is not ...}
        unknown = [node for node in named if node not in names.values()]
        if unknown:
            raise _Mistake(
                f"model names node {unknown[0]!r}, which is not at this site, which has {shown(list(names.values()))}"
            )
        usual = self.given.get(...)
        own = {index: named.get(name, usual) for index, name in names.items()}
        own = {index: spec for index, spec in own.items() if spec is not None}
        classes = np.array(site["classes"]) if site["classes"] else None
        return adapters(own, names, classes, site["seed"], weighted=site["weighted"])


def _kept(folder: Path, python: Mapping[str, Any]) -> str | None:
    """Writes the models of Python's into the folder of a run, and says where they are."""
    file = folder / PYTHON_MODELS
    if not python:
        file.unlink(missing_ok=True)
        return None
    nodes = ", ".join(f"'{name}'" for name in python)
    try:
        stored = pickle.dumps(dict(python), protocol=PICKLE)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        file.unlink(missing_ok=True)
        sentence = f"The models of {nodes} cannot be pickled ({error}), so that they end with the program that joined."
        warnings.warn(sentence, stacklevel=2)
        return sentence
    part = file.with_suffix(".part")
    part.write_bytes(stored)
    part.replace(file)
    return (
        f"The models of {nodes} are Python's, in {PYTHON_MODELS}: fg.federation.load reads them, and trusts that file as it "
        "trusts code; fedgrid predict cannot."
    )


# As a program -----------------------------------------------------------------------------------

_HELP = """
Beside these, where join runs in Python:
      --model <MODULE:NAME>  The model of this site's nodes, or a dict from node to model, or a function without
                             arguments that makes either; modules are looked for in the working directory, too"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command with the words and exit codes of `fedgrid federation`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    is_json = "--json" in given

    def refuse(code: int, message: str) -> int:
        error = {"error": {"message": message, "exit_code": code}}
        print(json.dumps(error) if is_json else f"fedgrid: {message}", file=sys.stderr)
        return code

    # A service manager asks so; the agent keeps its state and ends.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        given, spec = _taken(given, "--model")
        models = None if spec is None else _models(spec)
        host = {"columns": None, "models": models, "keep": _keep_models}
        with limits(models is not None):
            refused = _refused(given, _Said(False), host)
    except _Mistake as error:
        return refuse(WRONG, str(error))
    except KeyboardInterrupt:
        return refuse(INTERRUPTED, "interrupted; the same command goes on")
    except Exception:
        # Of a model, whose author wants to know where.
        traceback.print_exc()
        return 1
    if refused is not None:
        return refuse(*refused)
    if given[:1] == ["join"] and {"--help", "-h"} & set(given):
        print(_HELP)
    return 0


def _keep_models(folder: Any, nodes: list[str], models: native.Models) -> str | None:
    learnt = {name: models.export(place) for place, name in enumerate(nodes)}
    return _kept(Path(folder), {name: own for name, own in learnt.items() if not isinstance(own, str)})


def _taken(arguments: list[str], flag: str) -> tuple[list[str], str | None]:
    """The arguments without a flag, and its value."""
    rest, value = [], None
    left = iter(arguments)
    for one in left:
        if one == flag:
            value = next(left, None)
            if value is None:
                raise _Mistake(f"{flag} needs a value, module:name")
        elif one.startswith(flag + "="):
            value = one.partition("=")[2]
        else:
            rest.append(one)
    return rest, value


def _models(spec: str) -> _Models:
    made = _made(spec)
    try:
        return _Models(made)
    except TypeError as error:
        raise _Mistake(f"--model is {spec!r}: {error}") from None


def _made(spec: str) -> Any:
    """The model that `module:name` means."""
    module, _, name = spec.partition(":")
    if not module or not name:
        raise _Mistake(f"--model is {spec!r}, expected module:name")
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise _Mistake(f"--model is {spec!r}, and there is no module {module!r} here") from None
    except AttributeError:
        raise _Mistake(f"--model is {spec!r}, and {module!r} has no {name!r}") from None
    is_model = hasattr(found, "adapter") or (hasattr(found, "fit") and not isinstance(found, type))
    return found() if callable(found) and not is_model else found


if __name__ == "__main__":
    sys.exit(main())
