"""One experiment through Python and through the command gives the same bits."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import COLORADO, FEATURES, made

import fedgrid as fg


def by_command(command: Path, folder: Path, *arguments: str) -> dict[str, Any]:
    """The result of a fit of the command."""
    call = [str(command), "fit", *arguments, "--out", str(folder), "--json"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def same(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """All but the time is equal, to the last bit."""
    for name in theirs:
        if name != "seconds":
            assert ours[name] == theirs[name], name


def test_the_bundled_stations(
    command: Path, tmp_path: Path, readings: pd.DataFrame, stations: fg.Network
) -> None:
    theirs = by_command(command, tmp_path / "run", str(COLORADO / "colorado.toml"))
    run = fg.Auto().fit(
        readings, "tmax", node="station", network=stations, features=FEATURES, split="split",
        public={"kind": "columns", "columns": FEATURES},
    )  # fmt: skip
    same(run.result, theirs)
    said = subprocess.run(
        [str(command), "predict", str(tmp_path / "run"), "--data", str(COLORADO / "readings.csv"), "--json",
         "--use", "network"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    theirs_rows = [row["prediction"] for row in json.loads(said.stdout)["predictions"]]
    assert np.array_equal(run.predict(readings), np.array(theirs_rows))


MODELS: list[tuple[fg.Model, bool]] = [
    (fg.Linear(ridge=0.01), False),
    (fg.ElasticNet(), False),
    (fg.Huber(ridge=0.01), False),
    (fg.Quantile(ridge=0.01), False),
    (fg.Poisson(ridge=0.01), False),
    (fg.GraphicalLasso(ridge=0.01), False),
    (fg.Logistic(ridge=0.01), True),
    (fg.Tree(max_depth=3), False),
    (fg.Tree(max_depth=2), True),
    (fg.Forest(trees=5), False),
    (fg.ExtraTrees(trees=5), False),
    (fg.Boosting(trees=5), False),
    (fg.Neighbours(k=3), False),
    (fg.KernelRidge(ridge=0.1), False),
    (fg.Smoother(), False),
    (fg.Perceptron(layers=[4], epochs=5, ridge=0.01), False),
    (fg.Constant(), False),
]


@pytest.mark.parametrize(("model", "classes"), MODELS, ids=lambda value: getattr(value, "kind", value))
def test_every_built_in_model(
    command: Path, tmp_path: Path, model: fg.Model, classes: bool
) -> None:
    frame = made(4, 6, classes)
    if isinstance(model, fg.Poisson):
        frame["y"] = frame["y"].abs()
    frame.to_csv(tmp_path / "rows.csv", index=False)
    settings = {
        "method.kind": "fedrelax", "method.alpha": 0.3, "method.rounds": 6, "public.points": 20, "data.folds": 2,
    }  # fmt: skip
    keys = {**settings, "compare.shuffles": 1}
    for name, value in model.keys().items():
        keys[f"model.{name}"] = value
    sets = [part for name, value in keys.items() for part in ("--set", f"{name}={json.dumps(value)}")]
    theirs = by_command(
        command, tmp_path / "run", "--data", str(tmp_path / "rows.csv"), "--node", "node",
        "--target", "y", "--shape", "ring", *sets,
    )  # fmt: skip
    again = pd.read_csv(tmp_path / "rows.csv")
    method = fg.FedRelax(alpha=0.3, model=model, rounds=6, shuffles=1)
    network = fg.Network.shape("ring", [f"n{k}" for k in range(4)])
    for threads in (1, 3):
        method.set_params(n_jobs=threads)
        run = method.fit(again, "y", node="node", network=network, public=20, folds=2)
        same(run.result, theirs)


def test_total_variation_of_weights(command: Path, tmp_path: Path) -> None:
    frame = made(5, 6)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    theirs = by_command(
        command, tmp_path / "run", "--data", str(tmp_path / "rows.csv"), "--node", "node",
        "--target", "y", "--shape", "path", "--method", "gtv", "--set", "method.penalty=norm",
    )  # fmt: skip
    network = fg.Network.shape("path", [f"n{k}" for k in range(5)])
    again = pd.read_csv(tmp_path / "rows.csv")
    run = fg.GTV(penalty="norm").fit(again, "y", node="node", network=network)
    same(run.result, theirs)
    assert run.certificate_["kind"] == "certified relative gap"
    assert run.clusters_ is not None and set(run.clusters_) == set(network.nodes)


@pytest.mark.parametrize(
    "method", [fg.PersFL(candidates=3, rounds=30), fg.FedAvg(), fg.Ditto(), fg.IFCA(), fg.Gossip()]
)
def test_probes_and_rivals(method: Any, command: Path, tmp_path: Path) -> None:
    frame = made(5, 6)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    keys = {"persfl": ["method.candidates=3", "method.rounds=30"]}.get(method.kind, [])
    theirs = by_command(
        command, tmp_path / "run", "--data", str(tmp_path / "rows.csv"), "--node", "node",
        "--target", "y", "--shape", "path", "--method", method.kind,
        *(word for key in keys for word in ("--set", key)),
    )  # fmt: skip
    network = fg.Network.shape("path", [f"n{k}" for k in range(5)])
    run = method.fit(pd.read_csv(tmp_path / "rows.csv"), "y", node="node", network=network)
    same(run.result, theirs)


#: Every method with a strength that no grid holds.
METHODS: list[Any] = [
    fg.FedRelax(0.37), fg.GTV(0.037), fg.PersFL(0.037, candidates=3), fg.FedAvg(0.57), fg.FedProx(0.77),
    fg.Ditto(5.0), fg.APFL(0.63), fg.IFCA(5), fg.ClusteredFL(0.33), fg.FineTuned(7), fg.Gossip(0.23),
    fg.FedMD(0.43), fg.Shrunk(0.43), fg.Method("ditto", alpha=5.0), fg.Method("ifca", clusters=5),
]  # fmt: skip


@pytest.mark.parametrize("auto", [False, True], ids=["given", "auto"])
@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__ + "-" + m.kind)
def test_what_is_trained_is_what_the_experiment_says(
    method: Any, auto: bool, command: Path, tmp_path: Path
) -> None:
    strength = method._strength_name()
    given = getattr(method, strength)
    method = method.__class__(**{**method.get_params(), strength: "auto" if auto else given, "rounds": 12})
    method.set_params(shuffles=1)
    # Both ridges: one that is chosen, by which the strength must not be chosen along, and one that is not.
    for model in (fg.Linear(), fg.Linear(ridge=0.01)):
        folder = tmp_path / str(model.ridge)
        folder.mkdir()
        words = np.tile(["train"] * 6 + ["val"] * 2 + ["test"] * 2, 5)
        made(5, 10).assign(part=words).to_csv(folder / "rows.csv", index=False)
        frame = pd.read_csv(folder / "rows.csv")
        network = fg.Network.shape("path", [f"n{k}" for k in range(5)])
        edges = pd.DataFrame(network.edges(), columns=["src", "dst", "weight"])
        edges.to_csv(folder / "edges.csv", index=False)
        method.set_params(model=model)
        run = method.fit(frame, "y", node="node", network=network, split="part")
        (folder / "experiment.toml").write_text(run.experiment(), encoding="utf-8")
        theirs = by_command(
            command, folder / "run", str(folder / "experiment.toml"), "--data",
            str(folder / "rows.csv"), "--edges", str(folder / "edges.csv"),
        )  # fmt: skip
        assert auto or run.strength_ == given
        assert f"{strength}={run.strength_:.4g}" in repr(run)
        assert (run.strength_, run.ridge_) == (theirs["method"]["alpha"], theirs["method"].get("ridge"))
        lines = (folder / "run" / "models" / "nodes.jsonl").read_text().splitlines()
        models = {line["node"]: line["model"] for line in map(json.loads, lines)}
        assert {node: run.models_[node] for node in network.nodes} == models
        test = frame[frame["part"] == "test"]
        wrong = (run.predict(test) - test["y"]).to_numpy() ** 2
        own = run.compare()[run.compare().own]
        assert own["test"] == pytest.approx(wrong.mean(), rel=1e-12)
        assert (own.get("alpha", 0.0), own.get("ridge")) == (run.strength_, run.ridge_)
        same(run.result, theirs)
        if not auto:  # of the run itself and of the network that is shuffled, and of nobody else
            own_path = [name for name in theirs["path"] if name == run.compare().own or "shuffled" in name]
            assert {point["alpha"] for name in own_path for point in theirs["path"][name]} == {given}
        alone = run._outcome(compare=False).plain()
        for name in ("method", "certificate", "nodes"):
            if name == "nodes":
                ours = [node["network"] for node in alone[name]]
                assert ours == [node["network"] for node in theirs[name]]
            else:
                assert alone[name] == theirs[name]


@pytest.mark.parametrize("method", [fg.Local(), fg.Pooled(), fg.Shrunk()], ids=lambda method: method.kind)
def test_advice_can_be_followed(method: Any, command: Path, tmp_path: Path) -> None:
    words = np.tile(["train"] * 6 + ["val"] * 2 + ["test"] * 2, 5)
    made(5, 10).assign(part=words).to_csv(tmp_path / "rows.csv", index=False)
    frame = pd.read_csv(tmp_path / "rows.csv")
    network = fg.Network.shape("path", [f"n{k}" for k in range(5)])
    row = fg.FedRelax(shuffles=1).fit(frame, "y", node="node", network=network, split="part").compare()[method.kind]
    # What the comparison of a network says of it is what it trains, without a network, here and by the command.
    run = method.fit(frame, "y", node="node", split="part")
    assert run.compare()[method.kind] == row
    test = frame[frame["part"] == "test"]
    wrong = (run.predict(test) - test["y"]).to_numpy() ** 2
    assert row["test"] == pytest.approx(wrong.mean(), rel=1e-12)
    theirs = by_command(
        command, tmp_path / "run", "--data", str(tmp_path / "rows.csv"), "--node", "node", "--target", "y",
        "--split", "part", "--method", method.kind,
    )  # fmt: skip
    assert theirs["comparison"][method.kind] == row
    assert not run.compare().helps and "no network was tried" in run.compare().verdict


def test_a_report_is_the_page_of_the_command(tmp_path: Path) -> None:
    network = fg.Network.shape("ring", [f"n{k}" for k in range(6)])
    run = fg.FedRelax(alpha=0.1).fit(made(), "y", node="node", network=network)
    page = run.report(tmp_path / "report.html", title="six nodes").read_text()
    assert run.compare().verdict.split(":")[0] in page and "six nodes" in page
    assert page.rstrip().endswith("</html>")
