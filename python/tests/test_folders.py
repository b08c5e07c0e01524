"""Runs as folders, between Python and the command, and the methods that predict."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import warnings
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fedgrid as fg
from conftest import ROOT, made

METHODS = ["network", "mixed", "shrunk", "pooled", "local"]


def predicted(command: Path, run: Path, rows: pd.DataFrame, *flags: str) -> pd.DataFrame:
    """What the command predicts."""
    table = run.parent / "asked.csv"
    rows.to_csv(table, index=False)
    asked = [command, "predict", run, "--data", table, *flags]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    return pd.read_csv(StringIO(done.stdout))


@pytest.fixture
def run(frame: pd.DataFrame, path: fg.Network) -> fg.Run:
    return fg.FedRelax(shuffles=1).fit(frame, "y", node="node", network=path)


def silently(call: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


def test_a_saved_run_predicts_the_same_here_and_by_the_command(
    run: fg.Run, frame: pd.DataFrame, command: Path, tmp_path: Path
) -> None:
    folder = run.save(tmp_path / "run")
    loaded = fg.Run.load(folder)
    assert loaded.advised_ == run.advised_
    for use in METHODS:
        own = run.predict(frame, use=use, interval=0.8)
        again = loaded.predict(frame, use=use, interval=0.8)
        told = predicted(command, folder, frame, "--use", use, "--interval", "0.8")
        for k, name in enumerate(["prediction", "lower", "upper"]):
            assert (own[k] == again[k]).all(), (use, name)
            assert (own[k] == told[name].to_numpy()).all(), (use, name)
    shown = subprocess.run([command, "show", folder], capture_output=True, text=True, check=True)
    assert run.compare().verdict.split(":")[0] in " ".join(shown.stdout.split())
    onnx = tmp_path / "models.onnx"
    subprocess.run([command, "export", folder, "--onnx", "--out", onnx, "--quiet"], check=True)
    assert onnx.stat().st_size > 500


def test_what_the_verdict_advises_predicts_and_is_said(run: fg.Run, frame: pd.DataFrame, tmp_path: Path) -> None:
    before = run.predict(frame)
    assert (before == run.predict(frame, use="network")).all()
    advised = run.advised_
    for one in (run, fg.Run.load(run.save(tmp_path / "run"))):
        if advised == "network":
            assert (one.predict(frame) == before).all()
        else:
            with pytest.warns(UserWarning, match=f"predicted by {advised}, as the verdict advises"):
                found = one.predict(frame)
            assert (found == run.predict(frame, use=advised)).all()
        assert (silently(lambda: one.predict(frame, use="advised")) == run.predict(frame, use=advised)).all()
        with pytest.raises(ValueError, match="use is 'ditto', expected"):
            one.predict(frame, use="ditto")


def test_rows_that_are_all_alike_are_predicted_by_the_pooled_model() -> None:
    draw = np.random.default_rng(0)
    x, noise = draw.normal(size=(12, 30, 2)), draw.normal(size=(12, 30))
    rows = {f"n{k}": (x[k], x[k] @ [1, 2] + noise[k]) for k in range(12)}
    run = fg.FedRelax().fit(rows, network=fg.Network.shape("path", list(rows)))
    assert run.compare().verdict_kind == "pooled" and run.advised_ == "pooled"
    asked = {"n3": x[3], "n5": x[5]}
    with pytest.warns(UserWarning, match=r"predicted by pooled, as the verdict advises \(use= takes network"):
        found = run.predict(asked)
    for node, own in run.predict(asked, use="pooled").items():
        assert (found[node] == own).all()
        assert (found[node] != run.predict(asked, use="network")[node]).any()


def test_a_folder_of_the_command_opens_here(command: Path, tmp_path: Path) -> None:
    experiment = ROOT / "examples" / "colorado" / "colorado.toml"
    folder = tmp_path / "run"
    subprocess.run([command, "fit", experiment, "--quick", "--out", folder, "--quiet"], check=True)
    moved = tmp_path / "elsewhere"
    shutil.move(folder, moved)
    run = fg.Run.load(moved)
    result = json.loads((moved / "result.json").read_text())
    assert run.result == result and run.advised_ == (result["advised"] or "network")
    assert run.compare()["pooled"]["test"] == result["comparison"]["pooled"]["test"]
    assert run.report(tmp_path / "page.html").read_bytes() == (moved / "report.html").read_bytes()
    written = pd.read_csv(moved / "coefficients.csv", dtype={"node": str})
    pd.testing.assert_frame_equal(pd.DataFrame(run.coefficients()), written)
    rows = pd.read_csv(ROOT / "examples" / "colorado" / "readings.csv", dtype={"station": str}).head(50)
    told = predicted(command, moved, rows)
    # What was read stays, wherever the folder goes.
    shutil.move(moved, tmp_path / "again")
    for one in (run, pickle.loads(pickle.dumps(run)), fg.Run.load(run.save(tmp_path / "copy"))):
        assert (silently(lambda: one.predict(rows)) == told["prediction"].to_numpy()).all()
    stations = pd.read_csv(ROOT / "examples" / "colorado" / "stations.csv", dtype={"station": str})
    new = rows.assign(station="new")
    near = stations.head(1).assign(station="new")
    with pytest.warns(UserWarning, match="Node 'new' is not known to the run: 50 rows predicted by the mean of"):
        found = run.predict(new, use="network", nodes=near)
    near.to_csv(tmp_path / "near.csv", index=False)
    told = predicted(command, tmp_path / "again", new, "--use", "network", "--nodes", str(tmp_path / "near.csv"))
    assert (found == told["prediction"].to_numpy()).all()


def test_rows_of_new_nodes_are_refused_or_predicted_as_asked(
    run: fg.Run, frame: pd.DataFrame, command: Path, tmp_path: Path
) -> None:
    new = frame.head(3).assign(node="new")
    edges = pd.DataFrame({"src": ["new", "new"], "dst": ["n0", "n1"], "weight": [1.0, 3.0]})
    for one in (run, fg.Run.load(run.save(tmp_path / "run"))):
        with pytest.raises(ValueError, match="node 'new' is not of this run"):
            one.predict(new, use="network", unknown="refuse")
        for rule in (None, "pooled"):
            with pytest.warns(UserWarning, match="Node 'new' is not known to the run: 3 rows predicted by the pooled"):
                pooled = one.predict(new, use="network", unknown=rule)
        assert np.allclose(pooled, one.predict(frame.head(3), use="pooled"), rtol=1e-12)
        with pytest.warns(UserWarning, match="the mean of their neighbours' models"):
            mean = one.predict(new, use="network", edges=edges)
        parts = [one.predict(frame.head(3).assign(node=name), use="network") for name in ("n0", "n1")]
        assert np.allclose(mean, 0.25 * parts[0] + 0.75 * parts[1], rtol=1e-12)
        with pytest.raises(ValueError, match="needs the places of new nodes"):
            one.predict(new, use="network", unknown="neighbours")
        with pytest.raises(ValueError, match="unknown is 'perhaps'"):
            one.predict(new, unknown="perhaps")
        # A dict of nodes, and known nodes beside new ones.
        with pytest.warns(UserWarning, match="Node 'new' is not known"):
            both = one.predict({"n0": frame[["a", "b", "c"]].head(2), "new": new[["a", "b", "c"]]}, use="network")
        assert np.allclose(both["new"], pooled, rtol=1e-12)
        assert (both["n0"] == one.predict({"n0": frame[["a", "b", "c"]].head(2)}, use="network")["n0"]).all()
    # The command does the same by default.
    told = predicted(command, tmp_path / "run", new, "--use", "network")
    assert (told["by"] == "pooled").all() and np.allclose(told["prediction"], pooled, rtol=1e-12)


def test_probabilities_are_of_the_models_that_predict(tmp_path: Path, path: fg.Network) -> None:
    frame = made(classes=True)
    run = fg.FedRelax(0.1, fg.Logistic(ridge=0.01), shuffles=1).fit(frame, "y", node="node", network=path)
    loaded = fg.Run.load(silently(lambda: run.save(tmp_path / "run")))
    for one in (run, loaded):
        for use in METHODS:
            probabilities = one.predict_proba(frame, use=use)
            assert np.allclose(probabilities.sum(axis=1), 1.0)
            assert (one.classes_[probabilities.argmax(axis=1)] == one.predict(frame, use=use)).all()
        with pytest.warns(UserWarning, match="Node 'new' is not known"):
            assert one.predict_proba(frame.head(3).assign(node="new"), use="network").shape == (3, 2)


def test_classes_come_back_from_a_folder(tmp_path: Path, path: fg.Network) -> None:
    frame = made(classes=True)
    run = fg.FedRelax(0.1, fg.Logistic(ridge=0.01), shuffles=1).fit(frame, "y", node="node", network=path)
    loaded = fg.Run.load(run.save(tmp_path / "run"))
    for use in METHODS:
        assert (loaded.predict(frame, use=use) == run.predict(frame, use=use)).all()
    assert set(loaded.predict(frame, use="network")) <= {"high", "low"}


def test_a_run_of_the_format_before_opens(tmp_path: Path) -> None:
    tests = ROOT / "crates" / "fedgrid-cli" / "tests" / "command"
    expected = pd.read_csv(tests / "format_2_predictions.csv")
    run = fg.Run.load(tests / "format_2")
    about = json.loads((tests / "format_2" / "models" / "about.json").read_text())
    assert about["format"] == 2 and run.advised_ == run._own_name()
    assert len(expected) > 0 and run.features_ == about["features"]


def test_what_cannot_be_saved_or_opened_is_said(frame: pd.DataFrame, path: fg.Network, tmp_path: Path) -> None:
    from sklearn.linear_model import Ridge

    run = fg.FedRelax(0.1, Ridge(), rounds=2, shuffles=1).fit(frame, "y", node="node", network=path, public=10)
    with pytest.raises(ValueError, match="the model of node 'n0' is a Python object"):
        run.save(tmp_path / "run", compare=False)
    assert not (tmp_path / "run").exists()
    with pytest.raises(FileNotFoundError, match="holds no finished run"):
        fg.Run.load(tmp_path)
    plain = fg.FedRelax(0.1, fg.Linear(ridge=0.01), shuffles=1).fit(frame, "y", node="node", network=path)
    plain.save(tmp_path / "run", compare=False)
    with pytest.raises(ValueError, match="exists: replace it with --force"):
        plain.save(tmp_path / "run", compare=False)
    plain.save(tmp_path / "run", compare=False, force=True)
    assert fg.Run.load(tmp_path / "run")._names == ["network"]
