"""The classes of methods and models, which are made from the schema of experiment files."""

from __future__ import annotations

import copy
import importlib.util
import inspect
import json
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from sklearn.base import clone

import fedgrid as fg
from fedgrid import _fedgrid as native
from fedgrid import _kinds, baselines, methods, models

SCHEMA = json.loads(native.schema())
#: Every class with the schema of its kind.
CLASSES = [
    (getattr(module, name), variant)
    for module, section in ((methods, "MethodSection"), (models, "ModelKeys"))
    for variant in SCHEMA["$defs"][section]["oneOf"]
    for name in module.__all__
    if getattr(getattr(module, name), "kind", "") == variant["properties"]["kind"]["const"]
]
#: What the constructors of all methods take.
COMMON = {"model", "shuffles", "likelihood_shuffles", "quick", "baselines", "metric", "random_state", "n_jobs"}
STRENGTHS = {
    fg.FedRelax: "alpha", fg.GTV: "alpha", fg.PersFL: "step", fg.FedAvg: "pace", fg.FedProx: "alpha",
    fg.Ditto: "alpha", fg.APFL: "share", fg.IFCA: "clusters", fg.ClusteredFL: "threshold",
    fg.FineTuned: "steps", fg.Gossip: "pace", fg.FedMD: "alpha", fg.Shrunk: "alpha",
}  # fmt: skip


def test_every_kind_has_a_class() -> None:
    kinds = sum(len(SCHEMA["$defs"][name]["oneOf"]) for name in ("MethodSection", "ModelKeys"))
    assert len(CLASSES) == kinds == len(fg.methods.__all__) + len(fg.models.__all__) - 3
    for one, _ in CLASSES:
        assert getattr(fg, one.__name__) is one and one.__name__ in fg.__all__
        assert issubclass(one, (fg.Method, fg.Model))
    assert baselines.Ditto is fg.Ditto


@pytest.mark.parametrize(("one", "variant"), CLASSES, ids=lambda value: getattr(value, "__name__", ""))
def test_parameters_are_the_keys_of_the_schema(one: Any, variant: dict[str, Any]) -> None:
    keys = {name: key for name, key in variant["properties"].items() if name != "kind"}
    parameters = inspect.signature(one).parameters
    common = set() if issubclass(one, fg.Model) else COMMON
    assert set(parameters) == set(keys) | common
    made = one()
    for name, key in keys.items():
        usual = key.get("default")
        assert parameters[name].default == (tuple(usual) if isinstance(usual, list) else usual)
        assert getattr(made, name) == parameters[name].default
        assert " ".join(key["description"].split()) in " ".join(one.__doc__.split())
    assert one.__doc__.startswith(variant["description"]) and repr(made) == f"{one.__name__}()"
    for again in (clone(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert again == made and type(again) is one
    with pytest.raises(TypeError, match=rf"{one.__name__}\(\) got an unexpected keyword argument 'colour'"):
        one(colour="red")


@pytest.mark.parametrize(("one", "strength"), STRENGTHS.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_the_strength_stands_first_and_then_the_model(one: Any, strength: str) -> None:
    method = one(2.0, fg.Linear(0.1))
    assert getattr(method, strength) == 2.0 and method.model == fg.Linear(ridge=0.1)
    assert method == one(**{strength: 2.0}, model=fg.Linear(0.1))
    with pytest.raises(TypeError, match="too many positional arguments"):
        one(2.0, None, "nodes")
    if strength != "alpha":
        with pytest.raises(TypeError, match=f"alpha is for methods that pull; {one.__name__} has {strength} instead"):
            one(alpha=2.0)


def test_methods_without_a_strength() -> None:
    rows = {"a": ([[1.0], [2.0]], [1.0, 2.0]), "b": ([[1.0], [2.0]], [3.0, 6.0])}
    for one in (fg.Local, fg.Pooled):
        with pytest.raises(TypeError, match=f"alpha is for methods that pull, and {one.__name__} has no strength"):
            one(alpha=1.0)
        run = one(fg.Linear(0.1)).fit(rows)
        assert run.strength_ is None and repr(run) == f"Run({one.kind}, 2 nodes)"


def test_a_run_names_its_strength() -> None:
    rows = {"a": ([[1.0], [2.0]], [1.0, 2.0]), "b": ([[1.0], [2.0]], [3.0, 6.0])}
    run = fg.IFCA(2, fg.Linear(0.1)).fit(rows)
    assert run.strength_ == 2.0 and "clusters=2" in repr(run) and not hasattr(run, "alpha_")
    with pytest.raises(AttributeError, match="ifca has clusters, which is strength_"):
        run.alpha_
    pulled = fg.Ditto(0.5, fg.Linear(0.1)).fit(rows)
    assert pulled.alpha_ == pulled.strength_ == 0.5


def test_a_kind_that_is_new_gets_a_class() -> None:
    keys = (_kinds.key("reach", {"type": ["number", "null"], "description": "How far."}),)
    kind = _kinds.Kind("far-reaching", "Reaches far.", keys)
    one: Any = _kinds.made(fg.Model, kind, [(keys[0].parameter(True), keys[0].about)], module="somewhere")
    assert one.__name__ == "FarReaching" and one(2.0).keys() == {"kind": "far-reaching", "reach": 2.0}
    assert str(inspect.signature(one)) == "(reach: 'float | None' = None) -> 'None'"


def test_a_nodes_own_model_takes_nothing_from_that_of_all() -> None:
    frame = pd.DataFrame({"node": ["a"] * 8 + ["b"] * 8, "x": np.arange(16.0), "y": np.arange(16.0) ** 2})
    models = {"a": fg.Tree(), ...: fg.Tree(max_depth=1)}
    run, plain = (
        fg.FedRelax(0.0, model).fit(frame, "y", node="node", network=fg.Network(["a", "b"]))
        for model in (models, fg.Tree())
    )
    assert run.models_["a"] == plain.models_["a"] and run.models_["b"] != plain.models_["b"]
    assert fg.Tree(max_depth=None).keys() == fg.Tree().keys()


def test_the_model_of_all_nodes_leaves_other_kinds_their_defaults() -> None:
    frame = pd.DataFrame({"node": ["a"] * 8 + ["b"] * 8, "x": np.arange(16.0), "y": np.arange(16.0) ** 2})
    network = fg.Network(["a", "b"])
    models = [{"a": "tree", ...: fg.Forest()}, {"a": "tree", ...: "forest"}]
    first, second = (fg.FedRelax(0.0, model).fit(frame, "y", node="node", network=network) for model in models)
    assert first.models_["a"] == second.models_["a"] and "max_depth = 5" in first.experiment()


def test_methods_of_earlier_pickles_are_read() -> None:
    old = fg.PersFL.__new__(fg.PersFL)
    old.__setstate__({"alpha": 0.3, "model": None, "rounds": None, "candidates": 3})
    assert old == fg.PersFL(0.3, rounds=None, candidates=3) and old._method()["step"] == 0.3
    assert copy.deepcopy(old.set_params(step=0.7)).step == 0.7


def test_the_stubs_are_those_that_the_script_writes() -> None:
    path = ROOT / "tools" / "python_stubs.py"
    spec = importlib.util.spec_from_file_location("python_stubs", path)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for name, text in script.stubs().items():
        kept = (ROOT / "python" / "fedgrid" / name).read_text(encoding="utf-8")
        assert kept == text, f"{name} is not current: run tools/python_stubs.py in .venv"
