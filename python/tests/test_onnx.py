"""Exported models, computed by onnxruntime, are the models of the run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import made

import fedgrid as fg

ort = pytest.importorskip("onnxruntime", reason="onnxruntime, which computes exported models, is not installed")

NODES = [f"n{k}" for k in range(4)]
FEATURES = ["a", "b", "c"]

#: Every kind of model that can be exported, for numbers (one class), two classes or three.
KINDS: list[tuple[str, int]] = [
    ("linear", 1), ("elastic-net", 1), ("huber", 1), ("quantile", 1), ("poisson", 1), ("graphical-lasso", 1),
    ("logistic", 2), ("logistic", 3),
    *((kind, classes) for kind in ("tree", "forest", "extra-trees", "boosting", "perceptron", "constant")
      for classes in (1, 2, 3)),
]  # fmt: skip
KEYS = {
    "forest": ["trees=5"], "extra-trees": ["trees=5"], "boosting": ["trees=5"],
    "perceptron": ["layers=[4, 3]", "activation=tanh", "epochs=5", "ridge=0.01"],
    "tree": [], "constant": [],
}  # fmt: skip


def table(classes: int) -> pd.DataFrame:
    """Rows in units of their own, the columns not in the order of their names."""
    frame = made(4, 8)
    if classes > 1:
        frame["y"] = pd.qcut(frame["y"], classes, labels=["low", "high", "top"][:classes]).astype(str)
    else:
        frame["y"] = 30.0 * frame["y"].abs()
    return frame.assign(a=5e3 + 40.0 * frame["a"], c=2e-4 * frame["c"])[["c", "a", "b", "node", "y"]]


def called(command: Path, *words: Any) -> str:
    done = subprocess.run([str(command), *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def fitted(command: Path, folder: Path, frame: pd.DataFrame, *keys: str) -> Path:
    """The folder of a quick run."""
    frame.to_csv(folder / "rows.csv", index=False)
    settings = [
        "method.kind=fedrelax", "method.alpha=0.3", "method.rounds=3", "public.points=20", "data.folds=2",
        "compare.enabled=false", *keys,
    ]  # fmt: skip
    sets = [word for key in settings for word in ("--set", key)]
    called(
        command, "fit", "--data", folder / "rows.csv", "--node", "node", "--target", "y", "--shape", "ring",
        *sets, "--out", folder / "run",
    )  # fmt: skip
    return folder / "run"


def predicted(command: Path, run: Path, rows: Path) -> list[dict[str, Any]]:
    said = json.loads(called(command, "predict", run, "--data", rows, "--json"))
    found: list[dict[str, Any]] = said["predictions"]
    return found


def computed(file: Path, frame: pd.DataFrame, **more: Any) -> dict[str, Any]:
    """The outputs of a file for the rows of a frame."""
    session = ort.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    columns = json.loads(session.get_modelmeta().custom_metadata_map["fedgrid.features"])
    inputs = {"features": frame[columns].to_numpy(dtype=np.float64), **more}
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs)))


def same(ours: dict[str, Any], theirs: list[dict[str, Any]]) -> None:
    """The outputs of a file are what the command predicts."""
    if "probabilities" not in ours:
        expected = np.array([row["prediction"] for row in theirs])
        assert np.allclose(ours["prediction"], expected, rtol=1e-9, atol=1e-9)
        return
    expected = np.array([list(row["probabilities"].values()) for row in theirs])
    assert np.allclose(ours["probabilities"], expected, rtol=0, atol=1e-9)
    assert list(ours["class"]) == [row["prediction"] for row in theirs]


def check(command: Path, folder: Path, run: Path, frame: pd.DataFrame) -> None:
    """Both forms of files give what the command predicts."""
    frame.to_csv(folder / "new.csv", index=False)
    theirs = predicted(command, run, folder / "new.csv")
    called(command, "export", run, "--onnx", "--out", folder / "all.onnx")
    nodes = frame["node"].to_numpy(dtype=object)
    same(computed(folder / "all.onnx", frame, node=nodes), theirs)
    called(command, "export", run, "--onnx", "--out", folder / "each")
    for entry in json.loads((folder / "each" / "nodes.json").read_text()):
        is_own = (frame["node"] == entry["node"]).to_numpy()
        own = [row for row, own in zip(theirs, is_own) if own]
        same(computed(folder / "each" / entry["file"], frame[is_own]), own)


@pytest.mark.parametrize(("kind", "classes"), KINDS)
def test_every_kind_in_both_forms(command: Path, tmp_path: Path, kind: str, classes: int) -> None:
    frame = table(classes)
    keys = [f"model.{key}" for key in [f"kind={kind}", *KEYS.get(kind, ["ridge=0.01"])]]
    run = fitted(command, tmp_path, frame, *keys)
    # Rows that trees have split, and others far outside of them.
    far = frame.assign(a=frame["a"] * 3.0, b=-frame["b"], c=frame["c"] + 1.0)
    check(command, tmp_path, run, pd.concat([frame, far], ignore_index=True))


def test_a_row_at_a_threshold_takes_the_branch_of_the_run(command: Path, tmp_path: Path) -> None:
    frame = table(1)
    run = fitted(command, tmp_path, frame, "model.kind=tree")
    rows = []
    for line in (run / "models" / "nodes.jsonl").read_text().splitlines():
        stored = json.loads(line)
        scales, tree = stored["model"]["scales"], stored["model"]["model"]
        places = {name: k for k, name in enumerate(scales["names"])}
        nodes = tree["nodes"]
        for feature, threshold, right in zip(nodes["features"], nodes["thresholds"], nodes["right"]):
            if right == 0:
                continue
            name = tree["names"][feature]
            mean = scales["scaling"]["means"][places[name]]
            at = threshold * scales["scaling"]["deviations"][places[name]] + mean
            # So near that single precision would see one number.
            for value in (np.nextafter(at, -np.inf), at, np.nextafter(at, np.inf)):
                rows.append({**frame.iloc[0], "node": stored["node"], name: value})
    assert len(rows) > 20
    check(command, tmp_path, run, pd.DataFrame(rows))


def test_different_models_in_one_file_and_a_node_that_is_not_known(command: Path, tmp_path: Path) -> None:
    frame = table(1)
    models = [
        'model.nodes.n1={kind="tree"}', 'model.nodes.n2={kind="perceptron",epochs=5}',
        'model.nodes.n3={kind="forest",trees=3}',
    ]  # fmt: skip
    run = fitted(command, tmp_path, frame, "model.kind=linear", "model.ridge=0.01", *models)
    check(command, tmp_path, run, frame)
    few = frame.head(2)
    found = computed(tmp_path / "all.onnx", few, node=np.array(["n0", "elsewhere"], dtype=object))
    assert np.isfinite(found["prediction"][0]) and np.isnan(found["prediction"][1])


def test_an_exposure_is_an_input(command: Path, tmp_path: Path) -> None:
    frame = table(1).assign(days=lambda rows: 1.0 + rows.index % 3)
    run = fitted(command, tmp_path, frame, "model.kind=poisson", "model.ridge=0.01", "data.exposure=days")
    called(command, "export", run, "--onnx", "--node", "n1", "--out", tmp_path / "n1.onnx")
    own = frame[frame["node"] == "n1"]
    own.to_csv(tmp_path / "new.csv", index=False)
    found = computed(tmp_path / "n1.onnx", own, exposure=own["days"].to_numpy())
    same(found, predicted(command, run, tmp_path / "new.csv"))


@pytest.mark.filterwarnings("error")
def test_a_run_of_python_is_exported(tmp_path: Path, frame: pd.DataFrame, path: fg.Network) -> None:
    run = fg.FedRelax(0.1, fg.Forest(trees=3), rounds=2, tolerance=1e9).fit(frame, "y", node="node", network=path)
    file = run.export_onnx(tmp_path / "all.onnx")
    found = computed(file, frame, node=frame["node"].to_numpy(dtype=object))
    assert np.allclose(found["prediction"], run.predict(frame), rtol=1e-9)
    own = frame[frame["node"] == "n2"]
    found = computed(run.export_onnx(tmp_path / "n2.onnx", node="n2"), own)
    assert np.allclose(found["prediction"], run.predict(own), rtol=1e-9)
    assert len(list(run.export_onnx(tmp_path / "each").glob("*.onnx"))) == 6
    with pytest.raises(FileExistsError, match="force=True"):
        run.export_onnx(file)
    with pytest.raises(ValueError, match="there is no node 'n9' in the run"):
        run.export_onnx(file, node="n9", force=True)


def test_a_model_that_cannot_be_exported_is_named(tmp_path: Path, frame: pd.DataFrame, path: fg.Network) -> None:
    run = fg.FedRelax(0.1, fg.Neighbours(), rounds=2).fit(frame, "y", node="node", network=path)
    sentence = "the neighbours model of node 'n0' cannot be exported as ONNX; linear, .* and constant models can"
    with pytest.raises(ValueError, match=sentence):
        run.export_onnx(tmp_path / "each")
    assert not (tmp_path / "each").exists()


def test_what_is_made_outside_of_a_file_is_said(tmp_path: Path, frame: pd.DataFrame, path: fg.Network) -> None:
    told = frame.assign(kind=["x", "y"] * (len(frame) // 2))
    run = fg.FedRelax(0.1, fg.Linear(ridge=0.1)).fit(told, "y", node="node", network=path)
    with pytest.warns(UserWarning, match="made outside of it: .*kind \\(category"):
        file = run.export_onnx(tmp_path / "all.onnx")
    session = ort.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    facts = session.get_modelmeta().custom_metadata_map
    assert json.loads(facts["fedgrid.features"]) == run.features_
    assert "kind (category" in facts["fedgrid.preparation"]
