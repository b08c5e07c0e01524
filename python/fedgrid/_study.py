"""From a method, rows and a network to a study of the core: the keys of an experiment file, with
frames and Python models in the place of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _fedgrid as native
from ._frames import Handed, Table, is_column, is_table, matched, name_of, shown
from ._network import Network
from ._plain import scalar, to_json
from ._rows import Rows, labels, node_indices
from .adapters import Adapter, Estimator, is_classifier
from ._model import Model

IN_MEMORY = "in memory"


class Prepared:
    """A study, ready to be fitted."""

    def __init__(
        self,
        study: native.Study,
        network: Network,
        read: Rows,
        classes: npt.NDArray[Any] | None,
        python: bool,
    ) -> None:
        self.python = python
        self.study = study
        self.network = network
        self.features, self.sources = study.features()
        self.lags = study.lags()
        self.named = read.named
        self.node_name = read.node_name
        self.classes = classes


def prepare(
    method: Mapping[str, Any],
    model: Any,
    read: Rows,
    network: Network | None,
    *,
    train: float | None = None,
    validation: float | None = None,
    folds: int = 5,
    public: Any = None,
    task: str | None = None,
    exclude: Sequence[Any] = (),
    columns: Mapping[Any, Any] | None = None,
    missing: str = "refuse",
    missing_values: Sequence[Any] = (),
    time: Any = None,
    lags: Mapping[Any, Any] | None = None,
    class_weights: Any = None,
    shuffles: int = 5,
    likelihood_shuffles: int = 99,
    quick: bool = False,
    baselines: Sequence[str] = (),
    metric: str | None = None,
    seed: int = 1,
) -> Prepared:
    """Hands everything to the core, which checks it as the command does."""
    network = _network(network, read.found)
    own, builtin = models(model, network)
    wants_classes = _classification(task, own, builtin)
    numbers, classes = labels(read.target, wants_classes, read.target_name)
    about, points = _public(scalar(public), read)
    is_weighted = read.weights is not None or class_weights is not None
    keys: dict[str, Any] = {
        "seed": seed,
        "data": _given(
            file=IN_MEMORY, node=read.node_name, target=read.target_name, features=read.features,
            exclude=[str(name) for name in exclude], columns=_columns(columns), missing=missing,
            missing_values=[str(cell) for cell in missing_values],
            time=None if time is None else str(time), lags=lags,
            weight=read.weight_name, offset=read.offset_name, exposure=read.exposure_name,
            class_weights=_class_weights(class_weights),
            split=read.time_split or read.split_name, train=train, validation=validation, folds=folds,
            task=task,
        ),
        "network": {"edges": IN_MEMORY},
        "model": builtin,
        "method": method,
        "public": about,
        "compare": {
            "shuffles": shuffles, "likelihood_shuffles": likelihood_shuffles, "quick": quick,
            "baselines": list(baselines), **_given(metric=metric),
        },
    }  # fmt: skip
    if task == "auto" and wants_classes is None and classes is None:
        if native.takes_classes(to_json(keys), numbers):
            numbers, classes = labels(read.target, True, read.target_name)
    elif task is None and (classes is not None or wants_classes is False):
        keys["data"]["task"] = "regression" if classes is None else "classification"
    given = {
        "experiment": to_json(keys),
        "network": network._native,
        "positions": network.positions,
        "nodes": node_indices(read.nodes, read.found, network),
        "columns": read.columns,
        "target": numbers,
        "classes": [] if classes is None else [str(name) for name in classes.tolist()],
        "weights": read.weights,
        "known": read.known,
        "roles": read.roles,
        "models": adapters(own, network.nodes, classes, seed, weighted=is_weighted),
        "public": points,
    }
    return Prepared(native.Study(given), network, read, classes, bool(own))


def _columns(columns: Mapping[Any, Any] | None) -> dict[str, Any]:
    """How single columns are used: a kind, or keys as in an experiment file."""
    return {
        str(name): {"kind": keys} if isinstance(keys, str) else dict(keys)
        for name, keys in (columns or {}).items()
    }


def _class_weights(given: Any) -> Any:
    """A word, or a number for each class by its name."""
    if isinstance(given, Mapping):
        return {str(name): float(weight) for name, weight in given.items()}
    return given


def _given(**keys: Any) -> dict[str, Any]:
    return {name: value for name, value in keys.items() if value is not None}


def _network(network: Network | None, found: list[Any]) -> Network:
    if network is None:
        if len(found) > 1:
            raise ValueError(
                f"there are {len(found)} nodes and no network; make one with fg.Network.from_edges, "
                ".nearest, .from_networkx or .shape, and give it as network="
            )
        return Network(found)
    if not isinstance(network, Network):
        raise TypeError(
            f"network is a {type(network).__name__}, expected an fg.Network, such as "
            "fg.Network.from_networkx(graph)"
        )
    return network


# Models -----------------------------------------------------------------------------------------


def models(model: Any, network: Network) -> tuple[dict[int, Any], dict[str, Any]]:
    """The Python models by position, and the keys of the built-in ones."""
    if not isinstance(model, Mapping) or (isinstance(model.get("kind"), str) and ... not in model):
        model = {...: model}
    named = {name_of(key): spec for key, spec in model.items() if key is not ...}
    indices = {name_of(node): index for index, node in enumerate(network.nodes)} if named else {}
    unknown = [key for key in model if key is not ... and name_of(key) not in indices]
    if unknown:
        raise ValueError(
            f"model names node {unknown[0]!r}, which is not in the network, "
            f"which has {shown(network.nodes)}"
        )
    usual = model.get(...)
    common = builtin(usual, for_all=True) if len(named) < len(network) else None
    own = {} if common is not None else dict.fromkeys(range(len(network)), usual)
    nodes: dict[str, Any] = {}
    for name, spec in named.items():
        own.pop(indices[name], None)
        keys = builtin(spec)
        if keys is None:
            own[indices[name]] = spec
        else:
            nodes[name] = keys
    # Where all models are Python's, no built-in one is tuned or checked.
    keys = {"kind": "constant"} if common is None else dict(common)
    if nodes:
        keys["nodes"] = nodes
    return dict(sorted(own.items())), keys


def builtin(spec: Any, *, for_all: bool = False) -> dict[str, Any] | None:
    """The keys of a built-in model; None for a model of Python's."""
    if isinstance(spec, Model):
        return spec.keys(for_all=for_all)
    if isinstance(spec, str):
        return {"kind": spec}
    if isinstance(spec, Mapping):
        return dict(spec)
    if isinstance(spec, type):
        raise TypeError(f"model is the class {spec.__name__}, expected {spec.__name__}()")
    if spec is None:
        # Where nobody names a model, what is predicted decides it.
        return {} if for_all else {"kind": "linear"}
    if hasattr(spec, "adapter") or (hasattr(spec, "fit") and hasattr(spec, "predict")):
        return None
    if hasattr(spec, "parameters") and hasattr(spec, "state_dict"):
        raise TypeError("model is a torch module, expected fg.torch.TorchModel(module)")
    raise TypeError(
        f"model is a {type(spec).__name__}, expected a built-in model such as fg.Tree(), an object "
        "with fit and predict, or fg.Functions"
    )


def adapters(
    own: Mapping[int, Any], nodes: Sequence[Any] | Mapping[int, Any], classes: npt.NDArray[Any] | None, seed: int, *,
    weighted: bool,
) -> list[tuple[int, Adapter]]:
    """The adapters of models by the places of their nodes, each with a seed of its own."""
    made = []
    # Who resamples weighted rows must have said so.
    without_weights = "refuse" if weighted else "resample"
    for index, spec in own.items():
        wrapped = spec if hasattr(spec, "adapter") else Estimator(spec, without_weights)
        stream = int(np.random.SeedSequence([seed, index]).generate_state(1)[0]) >> 1
        adapter = wrapped.adapter(name_of(nodes[index]), classes, stream)
        adapter.weighted = weighted
        made.append((index, adapter))
    return made


def _classification(
    task: str | None, own: Mapping[int, Any], builtin: Mapping[str, Any]
) -> bool | None:
    if task not in (None, "auto"):
        if task not in ("regression", "classification"):
            raise ValueError(f"task is {task!r}, expected regression, classification or auto")
        return task == "classification"
    kinds = [builtin.get("kind")] + [keys["kind"] for keys in builtin.get("nodes", {}).values()]
    said = {is_classifier(spec) for spec in own.values()}
    if "logistic" in kinds or True in said:
        return True
    return False if False in said else None


# Public points ----------------------------------------------------------------------------------


def _public(public: Any, read: Rows) -> tuple[dict[str, Any], list[Handed] | None]:
    """The keys of public points, and their columns where they were given."""
    if public is None:
        return {}, None
    if isinstance(public, int):
        return {"points": public}, None
    if isinstance(public, Mapping) and ("kind" in public or "points" in public):
        # Features may be called so, too.
        text = {str(name): column for name, column in public.items()}
        if not all(name in text and is_column(text[name]) for name, *_ in read.columns):
            return dict(public), None
    # Columns that turn out to be no features need not be there.
    names = [name for name, *_ in read.columns]
    if read.features is not None:
        names = [name for name in names if name in read.features] or names
    if is_table(public):
        known = {str(name) for name in Table(public).names}
        names = [name for name in names if name in known] if read.named and known & set(names) else names
    points = matched(public, names, "public", read.named)
    return {"kind": "file", "file": IN_MEMORY}, points
