"""What a run says of itself: whether it converged, what a reader should know, and when it is pickled."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from conftest import made
from sklearn.tree import DecisionTreeRegressor

import fedgrid as fg
from fedgrid import run as runs


def short(**keys: Any) -> fg.FedRelax:
    """A method that cannot converge."""
    return fg.FedRelax(1.0, fg.Tree(max_depth=2), rounds=2, tolerance=1e-12, shuffles=1, **keys)


def test_a_run_that_did_not_converge_says_so(frame: pd.DataFrame, path: fg.Network) -> None:
    with pytest.warns(fg.ConvergenceWarning, match="fedrelax has not converged: fixed-point residual") as seen:
        run = short().fit(frame, "y", node="node", network=path, folds=2)
    assert len(seen) == 1 and seen[0].filename == __file__
    for word in ("after 2 rounds", "rounds=", f"{run.certificate_['value']:.3g}"):
        assert word in str(seen[0].message)
    assert not run.converged_ and "not converged" in repr(run) and "not converged" in run._repr_html_()
    compared = run.compare()
    for said in (str(compared), compared._repr_html_(), run._repr_html_()):
        plain = said.replace("&#x27;", "'")
        plain = " ".join(plain.split())
        assert plain.index("did not converge: fixed-point residual") < plain.index(compared.verdict)
    assert repr(compared).startswith("Comparison(not converged")


def test_a_run_that_converged_does_not(frame: pd.DataFrame, path: fg.Network) -> None:
    linear = fg.Linear(ridge=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in (
            fg.FedRelax(0.3, linear), fg.GTV(0.1, linear), fg.PersFL(0.1, linear, rounds=20),
            fg.Ditto(0.3, linear), fg.APFL(0.5, linear), fg.IFCA(2, linear),
        ):  # fmt: skip
            run = method.fit(frame, "y", node="node", network=path)
            assert run.converged_ and "converged" not in repr(run), method


def test_notes_reach_the_reader(frame: pd.DataFrame, path: fg.Network) -> None:
    flat = frame.assign(c=1.0)
    run = fg.FedRelax(0.3, fg.Linear(ridge=0.01), shuffles=1).fit(flat, "y", node="node", network=path)
    note = "Feature 'c' is constant over all training rows."
    assert note in run.notes_ and "Feature &#x27;c&#x27; is constant" in run._repr_html_()
    compared = run.compare()
    assert note in compared.notes and note in run.notes_ and run.notes_ == run.result["notes"]
    assert note in str(compared) and "Feature &#x27;c&#x27; is constant" in compared._repr_html_()


def test_numbers_are_not_taken_for_classes(frame: pd.DataFrame, path: fg.Network) -> None:
    for options in ({"model": fg.Logistic()}, {"model": fg.Tree()}):
        task = None if "logistic" == options["model"].kind else "classification"
        with pytest.raises(ValueError, match="y holds 48 classes in 48 rows, expected fewer; use Linear"):
            fg.FedRelax(0.3, **options).fit(frame, "y", node="node", network=path, task=task)


def kept(run: fg.Run) -> list[fg.Run]:
    """The run after every way of pickling."""
    file = io.BytesIO()
    joblib.dump(run, file)
    file.seek(0)
    found = [pickle.loads(pickle.dumps(run, protocol)) for protocol in (2, pickle.HIGHEST_PROTOCOL)]
    return [*found, joblib.load(file), pickle.loads(pytest.importorskip("cloudpickle").dumps(run))]


def test_a_pickled_run_keeps_its_report_and_its_experiment(
    frame: pd.DataFrame, path: fg.Network, tmp_path: Path
) -> None:
    linear = fg.Linear(ridge=0.01)
    for method in (
        fg.FedRelax("auto", linear, shuffles=1), fg.PersFL(0.1, linear, rounds=10, shuffles=1),
        fg.FedRelax(0.3, DecisionTreeRegressor(max_depth=2), rounds=3, shuffles=1),
    ):  # fmt: skip
        run = method.fit(frame, "y", node="node", network=path, folds=2)
        run.compare()
        page = run.report(tmp_path / "before.html", title="six").read_text()
        for again in kept(run):
            assert again.report(tmp_path / "after.html", title="six").read_text() == page
            assert again.experiment() == run.experiment() and "[method]" in again.experiment()
            assert again.result == run.result and again.notes_ == run.notes_
            assert (again.strength_, again.ridge_) == (run.strength_, run.ridge_)
            assert again.certificate_ == run.certificate_ and repr(again) == repr(run)
            own = run.compare().own
            assert np.array_equal(again.predict(frame, use=own), run.predict(frame, use=own))


def test_a_run_that_was_not_compared_before_says_so(
    frame: pd.DataFrame, path: fg.Network, tmp_path: Path
) -> None:
    run = fg.FedRelax(0.3, fg.Linear(ridge=0.01)).fit(frame, "y", node="node", network=path)
    alone = run.report(tmp_path / "alone.html", compare=False).read_text()
    for again in kept(run):
        assert again.experiment() == run.experiment() and again.notes_ == run.notes_
        assert again.report(tmp_path / "again.html", compare=False).read_text() == alone
        for ask in (again.compare, lambda: again.report(tmp_path / "none.html"), lambda: again.result):
            with pytest.raises(RuntimeError, match="was pickled holds .* compared before, not its rows"):
                ask()


def test_pickles_hold_plain_values_and_give_native_ones_back(
    frame: pd.DataFrame, path: fg.Network, tmp_path: Path
) -> None:
    run = fg.IFCA(2, fg.Linear(ridge=0.01)).fit(frame, "y", node="node", network=path, folds=2)
    alone = run.report(tmp_path / "alone.html", compare=False).read_text()
    state = run.__getstate__()
    # Names and types that earlier versions have written, too.
    assert state["alpha_"] == 2.0 and "strength_" not in state and isinstance(state["_helps"], str)
    assert isinstance(state["_alone"], dict) and not state["_cards"]
    again = pickle.loads(pickle.dumps(run))
    assert again.strength_ == run.strength_ and again.method == run.method
    assert again.report(tmp_path / "again.html", compare=False).read_text() == alone
    compared = run.compare()
    kept = pickle.loads(pickle.dumps(compared))
    assert kept.__getstate__() == {"result": compared.result} and str(kept) == str(compared)
    # What a reader does with the values changes no report.
    page = run.report(tmp_path / "before.html").read_text()
    compared.result["nodes"].clear()
    assert run.report(tmp_path / "after.html").read_text() == page


def test_a_pickled_run_predicts_by_what_its_verdict_advises(frame: pd.DataFrame, path: fg.Network) -> None:
    # All nodes are alike, so that the pooled model is advised.
    alike = pd.concat([made(6, 60, seed=k).assign(y=lambda rows: rows["a"] + rows["b"]) for k in range(2)])
    alike["y"] += np.sin(17.0 * np.arange(len(alike)))
    run = fg.FedRelax(0.3, fg.Linear(ridge=0.01), shuffles=1).fit(alike, "y", node="node", network=path)
    new = alike.head(4).assign(node="new")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        local = run.predict(alike, use="local", interval=0.8)
        # Not compared: its own models, and those that were asked for before.
        for again in kept(run):
            assert (again.predict(alike) == run.predict(alike)).all()
            assert all((a == b).all() for a, b in zip(again.predict(alike, use="local", interval=0.8), local))
            with pytest.raises(RuntimeError, match="has not the models of shrunk .it has those of network, local."):
                again.predict(alike, use="shrunk")
            with pytest.raises(RuntimeError, match="has not a model for nodes that it has never seen"):
                again.predict(new)
        advised = run.advised_
        assert advised == "pooled", run.compare().verdict
        for again in kept(run):
            assert (again.predict(alike) == run.predict(alike, use="pooled")).all()
            assert (again.predict(alike, use="network") == run.predict(alike, use="network")).all()
            assert (again.predict(new) == run.predict(new)).all()
            assert all((a == b).all() for a, b in zip(again.predict(alike, interval=0.9), run.predict(alike, interval=0.9)))
            pd.testing.assert_frame_equal(again.explain(alike), run.explain(alike))
    with pytest.warns(UserWarning, match="predicted by pooled, as the verdict advises"):
        pickle.loads(pickle.dumps(run)).predict(alike)


def test_no_row_is_pickled(frame: pd.DataFrame, path: fg.Network) -> None:
    run = fg.FedRelax(0.3, fg.Linear(ridge=0.01), shuffles=1).fit(frame, "y", node="node", network=path)
    run.compare()
    for again in (pickle.dumps(run), pickle.dumps(run, 0)):
        for cell in frame[["a", "b", "c", "y"]].to_numpy().ravel():
            assert np.float64(cell).tobytes() not in again and repr(float(cell)).encode() not in again


def test_pickles_of_other_formats_are_refused_in_one_sentence(
    frame: pd.DataFrame, path: fg.Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = fg.FedRelax(0.3, fg.Linear(ridge=0.01)).fit(frame, "y", node="node", network=path)
    assert fg.__version__.encode() in pickle.dumps(run)
    with monkeypatch.context() as later:
        later.setattr(runs, "FORMAT", runs.FORMAT + 1)
        newer = pickle.dumps(run)
    with pytest.raises(ValueError, match=r"pickled by fedgrid .* in format 6, and fedgrid .* reads formats up to 5"):
        pickle.loads(newer)

    class Old:
        """Pickles as runs did before they noted a version."""

        def __reduce__(self) -> tuple[Any, ...]:
            state = run.__getstate__()
            del state["_format"]
            return fg.Run.__new__, (fg.Run,), state

    with pytest.raises(ValueError, match="noted no version, and fedgrid .* cannot read it; fit it again"):
        pickle.loads(pickle.dumps(Old()))


def test_a_pickled_run_is_read_by_another_process(tmp_path: Path) -> None:
    frame, network = made(), fg.Network.shape("path", [f"n{k}" for k in range(6)])
    run = fg.Ditto(0.5, fg.Linear(ridge=0.01)).fit(frame, "y", node="node", network=network)
    run.compare()
    (tmp_path / "run.pickle").write_bytes(pickle.dumps(run))
    program = (
        "import pickle, sys; run = pickle.load(open(sys.argv[1], 'rb')); print(repr(run));"
        "run.report(sys.argv[2]); print(run.compare().verdict)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "run.pickle"), str(tmp_path / "page.html")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == [repr(run), run.compare().verdict]
    assert (tmp_path / "page.html").read_text().rstrip().endswith("</html>")


def test_columns_that_are_left_out_and_whole_targets_are_said(path: fg.Network) -> None:
    nodes = np.repeat(path.nodes, 6)
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"node": nodes, "x": draw.normal(size=len(nodes)), "y": np.arange(len(nodes)) % 3})
    frame["promo"] = np.where(frame["x"] > 0, "tv", "none")
    frame["date"] = pd.Timestamp("2024-01-01")
    frame["open"] = frame["x"] > 0
    run = fg.FedRelax(0.1, fg.Linear(ridge=0.1)).fit(frame, "y", node="node", network=path)
    assert run.features_ == ["x", "promo=none", "promo=tv", "open"]
    said = " ".join(run.notes_)
    assert "Columns left out: date (2024-01-01 in all training rows)." in said
    assert "Target 'y' holds 3 whole numbers (0, 1, 2)" in said
    assert "There are no test rows" in " ".join(run.compare().warnings)
    plain = " ".join(str(run.compare()).split())
    assert plain.index("There are no test rows") < plain.index(run.compare().verdict)
    asked = fg.FedRelax(0.1, fg.Linear(ridge=0.1)).fit(frame, "y", node="node", network=path, task="regression")
    assert "whole numbers" not in " ".join(asked.notes_)
