"""Time: splits, rolling origins and lags give the bits of the command."""

from __future__ import annotations

import json
import pickle
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_equal import by_command, same

import fedgrid as fg

METHOD = fg.FedRelax(model=fg.Linear(ridge=0.01), shuffles=1, likelihood_shuffles=0)
NODES = [f"n{k}" for k in range(4)]


def sales(days: int = 30) -> pd.DataFrame:
    """Sales that remember those of the day before."""
    draw = np.random.default_rng(5)
    parts = []
    for k, node in enumerate(NODES):
        x, y, level = draw.normal(size=days), np.empty(days), 5.0
        for day in range(days):
            level = 2.0 + 0.2 * k + 0.5 * level + x[day] + 0.3 * draw.normal()
            y[day] = level
        parts.append(pd.DataFrame({"node": node, "day": pd.date_range("2024-01-01", periods=days), "x": x, "y": y}))
    return pd.concat(parts, ignore_index=True)


def fitted(frame: pd.DataFrame, **options: Any) -> fg.Run:
    return METHOD.fit(frame, "y", node="node", network=fg.Network.shape("path", NODES), time="day", **options)


def toml(value: Any) -> str:
    """A value as experiment files write it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(part)}" for key, part in value.items()) + "}"
    return json.dumps(value)


@pytest.mark.parametrize("lags", [None, {"y": {"lags": [4, 7], "means": [3]}, "x": [5]}])
@pytest.mark.parametrize(
    "split",
    [
        {"by": "time", "train": 0.6, "validation": 0.2},
        {"by": "time", "train": 0.6, "validation": 0.2, "cut": "per-node"},
        {"by": "time", "validation_from": "2024-01-19", "test_from": "2024-01-24", "until": "2024-01-28"},
        {"by": "time", "origins": 3, "horizon": 4},
    ],
)
def test_a_frame_gives_the_bits_of_its_file(
    command: Path, tmp_path: Path, split: dict[str, Any], lags: dict[str, Any] | None
) -> None:
    frame = sales().sample(frac=1.0, random_state=3)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    keys = ["--set", f"data.split={toml(split)}", "--missing", "drop"]
    keys += [] if lags is None else ["--set", f"data.lags={toml(lags)}"]
    theirs = by_command(
        command, tmp_path / "run", "--data", str(tmp_path / "rows.csv"), "--node", "node", "--target", "y",
        "--time", "day", "--shape", "path", "--method", "fedrelax", "--set", "model.ridge=0.01",
        "--set", "compare.shuffles=1", "--set", "compare.likelihood_shuffles=0", *keys,
    )  # fmt: skip
    run = fitted(frame, split=split, lags=lags, missing="drop")
    same(run.result, theirs)
    assert run.features_ == json.loads((tmp_path / "run/models/about.json").read_text())["features"]
    if lags is None:
        return
    new = pd.DataFrame({"node": "n1", "day": pd.date_range("2024-01-31", periods=3), "x": 0.5})
    new.to_csv(tmp_path / "new.csv", index=False)
    said = subprocess.run(
        [str(command), "predict", str(tmp_path / "run"), "--data", str(tmp_path / "new.csv"), "--history",
         str(tmp_path / "rows.csv"), "--json", "--use", "network"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = np.array([row["prediction"] for row in json.loads(said.stdout)["predictions"]])
    assert np.array_equal(run.predict(new, history=frame), rows)
    again = pickle.loads(pickle.dumps(run))
    assert np.array_equal(again.predict(new, history=frame), rows)
    inside = run.predict(new, history=frame, interval=0.9)
    assert np.array_equal(inside.prediction, rows) and (inside.lower < inside.upper).all()


def test_probabilities_take_a_history_as_predictions_do() -> None:
    frame = sales()
    frame["kind"] = np.where(frame.pop("y") > 5.0, "high", "low")
    run = fg.FedRelax(0.1, fg.Logistic(ridge=0.01), shuffles=1).fit(
        frame, "kind", node="node", network=fg.Network.shape("path", NODES), time="day",
        split={"by": "time", "train": 0.6, "validation": 0.2}, lags={"x": [1]}, missing="drop",
    )  # fmt: skip
    new = pd.DataFrame({"node": "n1", "day": pd.date_range("2024-01-31", periods=2), "x": 0.5})
    shares = run.predict_proba(new, history=frame)
    assert shares.shape == (2, 2) and np.allclose(shares.sum(axis=1), 1.0)
    assert run.classes_ is not None
    assert (run.classes_[shares.argmax(axis=1)] == run.predict(new, history=frame)).all()


def test_a_time_is_no_feature_unless_it_is_asked_for() -> None:
    split = {"by": "time", "train": 0.6, "validation": 0.2}
    assert fitted(sales(), split=split).features_ == ["x"]
    assert fitted(sales(), split=split, features=["x"]).features_ == ["x"]
    listed = fitted(sales(), split=split, features=["x", "day"]).features_
    assert listed == ["x", "day.days", "day.weekday_sin", "day.weekday_cos"]


def test_dates_of_any_kind_name_cuts() -> None:
    text = {"by": "time", "validation_from": "2024-01-19", "test_from": "2024-01-24"}
    dates = {"by": "time", "validation_from": pd.Timestamp("2024-01-19"), "test_from": np.datetime64("2024-01-24")}
    results = [fitted(sales(), split=split).result["comparison"] for split in (text, dates)]
    assert results[0] == results[1]


def test_what_cannot_be_is_refused() -> None:
    frame = sales()
    split = {"by": "time", "origins": 3, "horizon": 4}
    with pytest.raises(ValueError, match="a lag of 1 day is shorter than the horizon of 4 days"):
        fitted(frame, split=split, lags={"y": [1]})
    with pytest.raises(ValueError, match="'day' is missing, expected a date or time"):
        fitted(frame.assign(day=frame["day"].where(frame.index != 3)), split=split)
    twice = frame.assign(day=frame["day"].where(frame.index != 3, frame["day"][0]))
    with pytest.raises(ValueError, match="row 3, column 'day' is 2024-01-01, as is row 0 of the same node"):
        fitted(twice, split=split, lags={"y": [4]}, missing="drop")
    with pytest.raises(ValueError, match="there is no column"):
        METHOD.fit(frame, "y", node="node", network=fg.Network.shape("path", NODES), time="dya", split=split)
    run = fitted(frame, split=split, lags={"y": [4]}, missing="drop")
    new = pd.DataFrame({"node": ["n1"], "day": [pd.Timestamp("2024-02-01")], "x": [0.5]})
    with pytest.raises(ValueError, match="needs 'y' of its node at 2024-01-28 for 'y.lag_4'"):
        run.predict(new)
    with pytest.raises(ValueError, match="history is for runs with lags"):
        fitted(frame, split=split).predict(new, history=frame)
