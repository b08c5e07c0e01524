"""Weights, offsets and exposures of frames: repeated rows, the bits of the command, and what models of Python's get."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import made
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from test_equal import by_command, same

import fedgrid as fg

METHOD = fg.FedRelax(0.3, fg.Linear(ridge=0.01), shuffles=1)


def weighted(rows: int = 12) -> pd.DataFrame:
    """Rows with whole weights and roles."""
    frame = made(rows=rows)
    draw = np.random.default_rng(4)
    return frame.assign(
        w=draw.integers(1, 4, size=len(frame)), split=np.tile(["train", "train", "val", "test"], len(frame) // 4)
    )


def repeated(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.loc[frame.index.repeat(frame["w"])].drop(columns="w").reset_index(drop=True)


def test_a_weight_is_the_row_as_many_times(path: fg.Network) -> None:
    frame = weighted()
    options: dict[str, Any] = {"node": "node", "network": path, "split": "split"}
    runs = [
        METHOD.fit(frame, "y", weight="w", **options),
        METHOD.fit(frame, "y", sample_weight=frame["w"], features=["a", "b", "c"], **options),
        METHOD.fit(repeated(frame), "y", **options),
    ]
    new = frame[["node", "a", "b", "c"]]
    assert np.array_equal(runs[0].predict(new), runs[1].predict(new))
    assert np.allclose(runs[0].predict(new), runs[2].predict(new), rtol=1e-9, atol=1e-9)
    compared = [run.compare() for run in (runs[0], runs[2])]
    for name in ("local", "pooled", "shrunk", "mixed", "network"):
        assert compared[0][name]["test"] == pytest.approx(compared[1][name]["test"], rel=1e-9)
    assert any("Rows count as 'w' says" in note for note in runs[0].notes_)


def test_weights_and_exposures_have_the_bits_of_the_command(
    command: Path, tmp_path: Path, path: fg.Network
) -> None:
    frame = weighted()
    frame.loc[[3, 17], "w"] = 0
    frame["days"] = 1.0 + np.arange(len(frame)) % 5
    frame["n"] = np.round(frame["days"] * np.exp(0.3 * frame["a"]))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    edges = pd.DataFrame({"src": [f"n{k}" for k in range(5)], "dst": [f"n{k + 1}" for k in range(5)], "weight": 1})
    edges.to_csv(tmp_path / "edges.csv", index=False)
    theirs = by_command(
        command, tmp_path / "run", "--data", str(tmp_path / "rows.csv"), "--node", "node", "--target", "n", "--edges",
        str(tmp_path / "edges.csv"), "--split", "split", "--features", "a,b,c", "--method", "fedrelax", "--alpha",
        "0.3", "--model", "poisson", "--set", "model.ridge=0.01", "--set", "compare.shuffles=1", "--weight", "w",
        "--exposure", "days",
    )  # fmt: skip
    method = fg.FedRelax(0.3, fg.Poisson(ridge=0.01), shuffles=1)
    run = method.fit(
        frame, "n", node="node", network=path, split="split", features=["a", "b", "c"], weight="w", exposure="days"
    )
    same(run.result, theirs)


def test_predictions_need_the_known_part_of_new_rows(path: fg.Network) -> None:
    frame = weighted().assign(days=2.0)
    frame["n"] = np.round(np.exp(0.5 * frame["a"] + 1.0))
    options: dict[str, Any] = {"node": "node", "network": path, "split": "split", "features": ["a", "b"]}
    run = fg.Mixed(model=fg.Poisson()).fit(frame, "n", exposure="days", **options)
    one, ten = (run.predict(frame.assign(days=days)) for days in (1.0, 10.0))
    assert np.allclose(10.0 * one, ten)
    assert np.array_equal(run.predict(frame.drop(columns="days"), exposure=np.full(len(frame), 10.0)), ten)
    by_node = run.predict({"n0": np.zeros((2, 2))}, exposure={"n0": [1.0, 3.0]})["n0"]
    assert by_node[1] == pytest.approx(3.0 * by_node[0])
    answers = run.predict(frame, interval=0.8)
    assert (answers.lower <= answers.prediction).all() and (answers.upper >= answers.prediction).all()
    again = pickle.loads(pickle.dumps(run))
    assert np.array_equal(again.predict(frame), run.predict(frame))
    with pytest.raises(ValueError, match="there is no column 'days', the exposure that the run was trained with"):
        run.predict(frame.drop(columns="days"))
    with pytest.raises(ValueError, match="exposure is 0.0 in row 0, expected a positive number"):
        run.predict(frame.assign(days=0.0))
    with pytest.raises(ValueError, match="offset was given, and the run was trained without one"):
        run.predict(frame, offset="a")
    shifted = METHOD.fit(frame.assign(o=frame["a"] * 5.0), "n", offset="o", **options)
    plain = METHOD.fit(frame.assign(n=frame["n"] - frame["a"] * 5.0), "n", **options)
    both = shifted.predict(frame.assign(o=7.0)), plain.predict(frame) + 7.0
    assert np.allclose(*both, rtol=1e-12)


def test_models_of_python_get_their_weights(path: fg.Network) -> None:
    frame = weighted()
    options: dict[str, Any] = {"node": "node", "network": path, "split": "split"}
    for model in (LinearRegression(), Ridge(5.0)):
        method = fg.FedRelax(0.3, model, rounds=5)
        one = method.fit(frame, "y", weight="w", public=20, **options)
        other = method.fit(repeated(frame), "y", public=20, **options)
        assert np.allclose(one.predict(frame), other.predict(frame), rtol=1e-9, atol=1e-9), model
    single = frame[frame["node"] == "n0"]
    alone = fg.Method("local", model=Ridge(5.0)).fit(single, "y", features=["a", "b", "c"], weight="w", train=1.0)
    direct = Ridge(5.0).fit(single[["a", "b", "c"]].to_numpy(), single["y"], sample_weight=single["w"])
    assert np.allclose(alone.predict(single[["a", "b", "c"]]), direct.predict(single[["a", "b", "c"]].to_numpy()), rtol=1e-9)
    with pytest.raises(ValueError, match="KNeighborsRegressor.fit takes no sample_weight, which weights need"):
        fg.FedRelax(0.3, KNeighborsRegressor(3)).fit(frame, "y", weight="w", **options)
    drawn = fg.Estimator(KNeighborsRegressor(3), without_weights="resample")
    fg.FedRelax(0.3, drawn, rounds=2).fit(frame, "y", weight="w", **options)


def test_class_weights_are_weights_of_training_rows(path: fg.Network) -> None:
    frame = made(rows=12, classes=True)
    frame["split"] = np.tile(["train", "train", "val", "test"], len(frame) // 4)
    options: dict[str, Any] = {"node": "node", "network": path, "split": "split"}
    method = fg.FedRelax(0.3, fg.Logistic(ridge=0.01), shuffles=1)
    by_class = method.fit(frame, "y", class_weights={"high": 3.0}, **options)
    by_row = method.fit(frame.assign(w=np.where(frame["y"] == "high", 3.0, 1.0)), "y", weight="w", **options)
    assert np.allclose(by_class.predict_proba(frame), by_row.predict_proba(frame), rtol=1e-9)
    assert by_class.compare()["local"]["test"] != by_row.compare()["local"]["test"]
    method.fit(frame, "y", class_weights="balanced", **options)
    with pytest.raises(ValueError, match="data.class_weights: 'hihg' is no class of 'y'; did you mean 'high'"):
        method.fit(frame, "y", class_weights={"hihg": 3.0}, **options)


def test_wrong_weights_are_refused_with_their_row(path: fg.Network) -> None:
    frame = weighted()
    options: dict[str, Any] = {"node": "node", "network": path}
    frame.loc[5, "w"] = -1
    with pytest.raises(ValueError, match="weight is -1 in row 5, expected zero or a positive number"):
        METHOD.fit(frame, "y", weight="w", **options)
    with pytest.raises(ValueError, match="weight has 3 rows, expected 72"):
        METHOD.fit(frame, "y", weight=[1.0, 2.0, 3.0], **options)
    with pytest.raises(ValueError, match="weight and sample_weight are the same"):
        METHOD.fit(frame, "y", weight="w", sample_weight="w", **options)
    with pytest.raises(ValueError, match="offset and exposure exclude each other"):
        METHOD.fit(frame, "y", offset="a", exposure="b", **options)
    with pytest.raises(ValueError, match="feature 'w' is already the weight"):
        METHOD.fit(frame, "y", weight="w", features=["a", "w"], **options)
    with pytest.raises(ValueError, match="data.exposure is for models of counts, and the linear model"):
        METHOD.fit(frame.assign(days=1.0), "y", exposure="days", **options)
