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
    run = fg.FedRelax().fit(
        readings, "tmax", node="station", network=stations, features=FEATURES, split="split",
        public={"kind": "columns", "columns": FEATURES},
    )  # fmt: skip
    same(run.result, theirs)
    said = subprocess.run(
        [str(command), "predict", str(tmp_path / "run"), "--data", str(COLORADO / "readings.csv"), "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    theirs_rows = [row["prediction"] for row in json.loads(said.stdout)]
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
    settings = {"method.alpha": 0.3, "method.rounds": 6, "public.points": 20, "data.folds": 2}
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
    keys = {"persfl": ["method.persfl.candidates=3", "method.rounds=30"]}.get(method.kind, [])
    theirs = by_command(
        command, tmp_path / "run", "--data", str(tmp_path / "rows.csv"), "--node", "node",
        "--target", "y", "--shape", "path", "--method", method.kind,
        *(word for key in keys for word in ("--set", key)),
    )  # fmt: skip
    network = fg.Network.shape("path", [f"n{k}" for k in range(5)])
    run = method.fit(pd.read_csv(tmp_path / "rows.csv"), "y", node="node", network=network)
    same(run.result, theirs)


def test_a_report_is_the_page_of_the_command(tmp_path: Path) -> None:
    network = fg.Network.shape("ring", [f"n{k}" for k in range(6)])
    run = fg.FedRelax(alpha=0.1).fit(made(), "y", node="node", network=network)
    page = run.report(tmp_path / "report.html", title="six nodes").read_text()
    assert run.compare().verdict.split(":")[0] in page and "six nodes" in page
    assert page.rstrip().endswith("</html>")
