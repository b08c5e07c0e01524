"""Why rows are predicted as they are, cards of nodes, and runs in words."""

from __future__ import annotations

import json
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import made

import fedgrid as fg


def silently(call: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


def called(command: Path, *words: Any) -> Any:
    done = subprocess.run([command, *words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def with_kinds(classes: bool = False) -> pd.DataFrame:
    frame = made(classes=classes)
    return frame.assign(kind=["red", "blue", "green"] * (len(frame) // 3))


@pytest.mark.parametrize(
    ("model", "classes"),
    [(fg.Linear(ridge=0.01), False), (fg.Forest(trees=5), False), (fg.Boosting(trees=5), False),
     (fg.Logistic(ridge=0.01), True), (fg.Tree(), True)],
)  # fmt: skip
def test_explanations_are_those_of_the_command_and_add_up(
    model: Any, classes: bool, path: fg.Network, command: Path, tmp_path: Path
) -> None:
    frame = with_kinds(classes)
    frame.index = [f"row {k}" for k in range(len(frame))]
    run = fg.FedRelax(0.3, model, rounds=2, shuffles=1).fit(frame, "y", node="node", network=path, public=20)
    folder = silently(lambda: run.save(tmp_path / "run"))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    told = called(command, "predict", folder, "--data", tmp_path / "rows.csv", "--explain", "--use", "network", "--json")
    for one in (run, fg.Run.load(folder)):
        with pytest.warns(UserWarning, match="base and the columns because_… add up to"):
            why = one.explain(frame, use="network")
        assert list(why.index) == list(frame.index) and list(why.columns) == ["base", "a", "b", "c", "kind", "by"]
        for (_, own), row in zip(why.iterrows(), told["predictions"]):
            assert own["base"] == row["base"] and own["by"] == row["by"]
            assert all(own[name] == part for name, part in row["because"].items())
        numbers = why.drop(columns="by").sum(axis=1).to_numpy()
        if not classes:
            assert np.allclose(numbers, one.predict(frame, use="network"), rtol=0, atol=1e-9)
        elif isinstance(model, fg.Tree):
            assert np.allclose(numbers, one.predict_proba(frame, use="network").max(axis=1), rtol=0, atol=1e-9)
        parts = silently(lambda: one.explain({"n1": frame[frame["node"] == "n1"][["a", "b", "c", "kind"]]}, use="network"))
        assert (parts["n1"]["a"].to_numpy() == why[frame["node"] == "n1"]["a"].to_numpy()).all()


def test_other_methods_and_new_nodes_are_explained(path: fg.Network) -> None:
    frame = made()
    run = fg.FedRelax(0.3, fg.Linear(ridge=0.01), shuffles=1).fit(frame, "y", node="node", network=path)
    new = frame.head(2).assign(node="new")
    for use in ("pooled", "local"):
        why = silently(lambda: run.explain(frame, use=use))
        assert np.allclose(why.drop(columns="by").sum(axis=1), run.predict(frame, use=use), rtol=0, atol=1e-9)
    why = silently(lambda: run.explain(new, use="network"))
    assert set(why["by"]) == {"pooled"}
    assert np.allclose(why.drop(columns="by").sum(axis=1), silently(lambda: run.predict(new, use="network")), rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match="node 'new' is not of this run"):
        run.explain(new, unknown="refuse")


def test_models_without_a_method_are_refused_in_a_sentence(path: fg.Network) -> None:
    from sklearn.linear_model import Ridge

    frame = made()
    for model in (fg.Neighbours(), Ridge()):
        run = fg.FedRelax(0.3, model, rounds=2).fit(frame, "y", node="node", network=path, public=10)
        with pytest.raises(ValueError, match="has no method for the model of node 'n0'"):
            silently(lambda run=run: run.explain(frame))


def test_the_card_of_a_node_is_that_of_the_command(path: fg.Network, command: Path, tmp_path: Path) -> None:
    frame = made(6, 20)
    frame["split"] = (["train"] * 10 + ["val"] * 5 + ["test"] * 5) * 6
    rows, edges = tmp_path / "rows.csv", tmp_path / "edges.csv"
    frame.to_csv(rows, index=False)
    edges.write_text("src,dst\n" + "".join(f"n{k},n{k + 1}\n" for k in range(5)))
    sets = ["--set", "compare.shuffles=1", "--set", "compare.likelihood_shuffles=0"]
    words = ["--node", "node", "--target", "y", "--split", "split", "--edges", edges, "--method", "fedrelax"]
    run = fg.FedRelax(shuffles=1, likelihood_shuffles=0).fit(frame, "y", node="node", network=path, split="split")
    folder = tmp_path / "run"
    subprocess.run([command, "fit", "--data", rows, *words, *sets, "--out", folder, "--quiet"], check=True)
    run.compare()
    told = called(command, "show", folder, "--node", "n2", "--json")
    for found in (run.node("n2"), fg.Run.load(folder).node("n2")):
        assert {key: found[key] for key in told if key != "notes"} == {key: told[key] for key in told if key != "notes"}
    # What columns are worth is asked of rows that validate, which no model has seen.
    assert told["importance"]["rows_are"] == "validation" and told["importance"]["rows"] == 5
    page = run.report(tmp_path / "page.html").read_text()
    assert "5 validation rows" in page and "5 validation rows" in (folder / "report.html").read_text()
    with pytest.raises(ValueError, match="node 'n9' is not of this run"):
        run.node("n9")


def test_a_run_says_in_words_what_the_command_prints(path: fg.Network, command: Path, tmp_path: Path) -> None:
    frame = made(6, 20)
    run = fg.FedRelax(shuffles=2).fit(frame, "y", node="node", network=path)
    assert "Run(fedrelax, 6 nodes" in run.summary() and "not compared yet" in run.summary()
    compared = run.compare()
    folder = run.save(tmp_path / "run", "run")
    shown = subprocess.run([command, "show", folder], capture_output=True, text=True, check=True).stdout
    lines = str(compared).splitlines()
    # The table with its digits and the spread of shuffles, the verdict and the notes, line by line.
    assert any(line.startswith("shuffled") for line in lines) and any(line.endswith(")") and " to " in line for line in lines)
    assert [line for line in lines if line] == [line for line in shown.splitlines() if line][2:-1]
    assert str(compared) in run.summary()
    assert lines[0] in compared._repr_html_()


def test_sweeps_are_those_of_the_command(command: Path, tmp_path: Path) -> None:
    frame = made()
    frame.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "experiment.toml").write_text(
        '[data]\nfile = "rows.csv"\nnode = "node"\ntarget = "y"\ntrain = 0.5\nvalidation = 0.25\n'
        '[network]\nshape = "ring"\n[method]\nkind = "fedrelax"\n[compare]\nshuffles = 1\nlikelihood_shuffles = 0\n'
    )
    sets = ["--set", "method.alpha=0.1,1.0", "--set", 'data.features=["a","b"],["a"]']
    subprocess.run(
        [command, "sweep", tmp_path / "experiment.toml", *sets, "--seeds", "2", "--out", tmp_path / "told", "--quiet"],
        check=True,
    )
    keys = {"method.alpha": [0.1, 1.0], "data.features": [["a", "b"], ["a"]]}
    found = fg.sweep(tmp_path / "experiment.toml", keys, seeds=2, out=tmp_path / "ours")
    for name in ("table.csv", "table.md", "cells.csv", "plot.svg", "result.json"):
        assert (found.folder / name).read_bytes() == (tmp_path / "told" / name).read_bytes(), name
    assert found.result == json.loads((tmp_path / "told" / "result.json").read_text())
    table = found.to_pandas()
    assert len(table) == len(found.rows()) and set(table["method.alpha"]) == {"0.1", "1.0"}
    own = table[(table["method"] == "network") & (table["method.alpha"] == "0.1")]
    assert len(own) == 2 and (own["seeds"] == 2).all() and (own["standard_error"] > 0).all()
    with pytest.raises(ValueError, match="exists: replace it with --force"):
        fg.sweep(tmp_path / "experiment.toml", keys, seeds=2, out=tmp_path / "ours")
    with pytest.raises(ValueError, match="nothing varies in this sweep"):
        fg.sweep(tmp_path / "experiment.toml", {}, out=tmp_path / "none")
    assert not (tmp_path / "none").exists()
    with pytest.warns(UserWarning, match="2 cells could not be run"):
        failed = fg.sweep(
            tmp_path / "experiment.toml", {"data.features": [["a"], ["none"]]}, seeds=2, out=tmp_path / "failed"
        )
    assert failed.failed[0]["seeds"] == [1, 2]


def test_runs_side_by_side(path: fg.Network, command: Path, tmp_path: Path) -> None:
    frame = made()
    runs = [
        fg.FedRelax(alpha, fg.Linear(ridge=0.01), shuffles=1).fit(frame, "y", node="node", network=path)
        for alpha in (0.1, 1.0)
    ]
    folders = [run.save(tmp_path / f"alpha {place}") for place, run in enumerate(runs)]
    told = called(command, "compare", *folders, "--json")
    beside = fg.compare_runs(folders)
    assert beside.result == told
    for row, run in zip(beside.rows(), runs):
        assert row["network"] == run.compare()["network"]["validation"]
        assert row["method"] == "fedrelax" and row["verdict_kind"] == run.compare().verdict_kind
    mixed = fg.compare_runs([folders[0], runs[1]])
    assert [row["network"] for row in mixed.rows()] == [row["network"] for row in beside.rows()]
    assert list(mixed.to_pandas().index) == ["alpha 0", "run 2"]
    assert "network" in str(mixed)
    with pytest.raises(ValueError, match="runs has length 1, expected two or more"):
        fg.compare_runs(folders[:1])
