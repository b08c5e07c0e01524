"""Further rows and nodes for a run."""

from __future__ import annotations

import pickle
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fedgrid as fg


def silently(call: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


def parts(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows of the run, and later ones of every node."""
    late = frame.groupby("node").cumcount() % 3 == 2
    return frame[~late], frame[late]


def kinds() -> list[Any]:
    return [
        fg.FedRelax(alpha=0.1, model=fg.Linear(ridge=0.01)),
        fg.GTV(alpha=0.1, model=fg.Linear(ridge=0.01)),
        fg.Mixed(),
        fg.FedRelax(alpha=0.1, model=fg.Tree()),
    ]


@pytest.mark.parametrize("place", range(4))
def test_an_update_is_the_fit_of_all_rows(frame: pd.DataFrame, path: fg.Network, place: int, tmp_path: Path) -> None:
    early, late = parts(frame)
    method = kinds()[place]
    run = method.fit(early, "y", node="node", network=path)
    whole = method.fit(frame, "y", node="node", network=path)
    for one in (run, fg.Run.load(run.save(tmp_path / "run"))):
        if place == 3 and one is not run:
            with pytest.raises(ValueError, match="are read again, because"):
                one.update(late)
            continue
        found = one.update(late)
        assert found.result["updates"][0]["rows_added"] == len(late)
        assert found.result["updates"][0]["by"] == ("rows" if place == 3 else "statistics")
        own = silently(lambda: found.predict(frame, use="network"))
        assert np.abs(own - whole.predict(frame)).max() < 1e-6
        assert found.result["verdict"].startswith("Before the update: ")
    # The run stays as it is.
    again = method.fit(early, "y", node="node", network=path)
    assert (run.predict(frame, use="network") == again.predict(frame)).all()


def test_an_update_is_that_of_the_command(
    frame: pd.DataFrame, path: fg.Network, command: Path, tmp_path: Path
) -> None:
    early, late = parts(frame)
    run = fg.FedRelax(shuffles=1).fit(early, "y", node="node", network=path)
    run.compare()
    folder = run.save(tmp_path / "run")
    late.to_csv(tmp_path / "late.csv", index=False)
    asked = [command, "update", folder, "--data", tmp_path / "late.csv", "--out", tmp_path / "next", "--quiet"]
    subprocess.run([*asked, "--all-methods"], check=True)
    told = fg.Run.load(tmp_path / "next")
    found = run.update(late, all_methods=True)
    for use in ("network", "mixed", "shrunk", "pooled", "local"):
        assert (found.predict(frame, use=use) == told.predict(frame, use=use)).all(), use
    # Updates go on from updates, also from a folder.
    again = told.update(late.assign(y=late["y"] + 1.0))
    assert len(again.result["updates"]) == 2


def test_nodes_join_and_rows_that_are_known_are_refused(frame: pd.DataFrame, path: fg.Network) -> None:
    early, late = parts(frame)
    run = fg.FedRelax(alpha=0.1).fit(early, "y", node="node", network=path)
    new = late.assign(node="new")
    with pytest.raises(ValueError, match="is 'new', which is not a node of the run"):
        run.update(new)
    edges = pd.DataFrame({"src": ["new"], "dst": [str(frame["node"].iloc[0])], "weight": [1.0]})
    found = run.update(new, edges=edges)
    assert "new" in found.nodes_ and len(found.nodes_) == len(run.nodes_) + 1
    assert found.result["updates"][0]["new_nodes"] == ["new"]
    with pytest.raises(ValueError, match="equal rows that the run was trained on"):
        run.update(frame)
    assert run.update(frame, repeated="skip").result["updates"][0]["rows_added"] == len(late)
    with pytest.raises(ValueError, match="repeated is 'often', expected refuse, skip or add"):
        run.update(late, repeated="often")
    with pytest.raises(ValueError, match="there is no column 'y', the target of the run"):
        run.update(late.drop(columns="y"))


def test_rows_of_each_node_by_itself_are_added() -> None:
    draw = np.random.default_rng(0)
    x = {node: draw.normal(size=(12, 2)) for node in "abc"}
    rows = {node: (own, own @ [1.0, 2.0] + 0.1 * draw.normal(size=12)) for node, own in x.items()}
    first = {node: (X[:8], y[:8]) for node, (X, y) in rows.items()}
    more = {node: (X[8:], y[8:]) for node, (X, y) in rows.items()}
    method = fg.FedRelax(alpha=0.2, model=fg.Linear(ridge=0.0))
    network = fg.Network.shape("path", list("abc"))
    found = method.fit(first, network=network).update(more)
    whole = method.fit(rows, network=network)
    for node, own in silently(lambda: found.predict(x, use="network")).items():
        assert np.abs(own - whole.predict(x)[node]).max() < 1e-6


def test_sums_over_rows_stay_in_the_folder(frame: pd.DataFrame, path: fg.Network, tmp_path: Path) -> None:
    early, late = parts(frame)
    run = fg.FedRelax(alpha=0.1).fit(early, "y", node="node", network=path)
    folder = run.save(tmp_path / "run", compare=False)
    assert (folder / "statistics.json").is_file()
    loaded = pickle.loads(pickle.dumps(fg.Run.load(folder)))
    with pytest.raises(RuntimeError, match="no longer holds the run"):
        loaded.update(late)
    with pytest.raises(RuntimeError, match="pickled has no rows to go on from"):
        pickle.loads(pickle.dumps(run)).update(late)


def test_a_run_with_lags_is_updated_with_earlier_rows(path: fg.Network, tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"node": node, "day": day, "x": draw.normal(), "y": draw.normal()} for node in path.nodes for day in range(30)
    )
    method = fg.FedRelax(alpha=0.1, model=fg.Linear(ridge=0.01))

    def fit(rows: pd.DataFrame) -> fg.Run:
        return method.fit(
            rows, "y", node="node", network=path, time="day", lags={"y": {"lags": [1], "means": [4]}}, missing="drop"
        )

    early, late = frame[frame["day"] < 22], frame[frame["day"] >= 22]
    run = fit(early)
    with pytest.raises(ValueError, match="give these with --history"):
        run.update(late)
    found = run.update(late, history=early[early["day"] >= 15])
    assert found.result["updates"][0]["rows_added"] == len(late)
    asked = frame[frame["day"] >= 28]
    before = frame[frame["day"] < 28]
    own = silently(lambda: found.predict(asked, use="network", history=before))
    assert np.abs(own - fit(frame).predict(asked, history=before)).max() < 1e-6
    with pytest.raises(ValueError, match="would be another"):
        run.update(early[early["day"] == 20].assign(y=0.0), history=early)
