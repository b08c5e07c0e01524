"""Frames of any kind go through the column plan of the command, to the same bits as a file."""

from __future__ import annotations

import json
import pickle
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_equal import by_command, same

import fedgrid as fg

METHOD = fg.FedRelax(0.3, fg.Linear(ridge=0.01), shuffles=1)
NODES = [f"n{k}" for k in range(5)]


def table(rows: int = 100) -> pd.DataFrame:
    """Text, dates, booleans and whole numbers, some of them missing."""
    draw = np.random.default_rng(3)
    frame = pd.DataFrame({"node": np.repeat(NODES, rows // 5), "x": draw.normal(size=rows)})
    frame["promo"] = draw.choice(["none", "flyer", "tv"], size=rows)
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(draw.integers(0, 300, size=rows), unit="D")
    frame["open"] = draw.random(rows) < 0.5
    frame["age"] = draw.integers(20, 60, size=rows)
    frame["y"] = frame["x"] + 2.0 * (frame["promo"] == "tv") + draw.normal(size=rows)
    frame["split"] = draw.choice(["train", "train", "val", "test"], size=rows)
    return frame


def with_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with some cells missing, in types that can miss some."""
    frame = frame.assign(age=frame["age"].astype("Int64"), open=frame["open"].astype("boolean"))
    frame.loc[[3, 40], "age"], frame.loc[[7, 41], "promo"] = pd.NA, None
    frame.loc[[9, 77], "open"], frame.loc[[11, 12], "day"] = pd.NA, pd.NaT
    return frame


def network() -> fg.Network:
    return fg.Network.shape("path", NODES)


def fitted(data: Any, **options: Any) -> fg.Run:
    return METHOD.fit(data, "y", node="node", network=network(), **{"split": "split", **options})


def command_run(command: Path, folder: Path, frame: pd.DataFrame, *more: str) -> dict[str, Any]:
    frame.to_csv(folder / "rows.csv", index=False)
    return file_run(command, folder / "rows.csv", folder / "run", *more)


def file_run(command: Path, file: Path, folder: Path, *more: str) -> dict[str, Any]:
    return by_command(
        command, folder, "--data", str(file), "--node", "node", "--target", "y", "--shape",
        "path", "--method", "fedrelax", "--alpha", "0.3", "--set", "model.ridge=0.01",
        "--set", "compare.shuffles=1", *more,
    )  # fmt: skip


@pytest.mark.parametrize("rule", ["mean", "most-frequent", "indicator", "drop"])
def test_a_frame_with_gaps_gives_the_bits_of_its_file(command: Path, tmp_path: Path, rule: str) -> None:
    frame = with_gaps(table())
    theirs = command_run(command, tmp_path, frame, "--split", "split", "--missing", rule)
    run = fitted(frame, missing=rule)
    same(run.result, theirs)
    about = json.loads((tmp_path / "run/models/about.json").read_text())
    assert run.features_ == about["features"]
    if rule != "drop":
        said = subprocess.run(
            [str(command), "predict", str(tmp_path / "run"), "--data", str(tmp_path / "rows.csv"), "--json",
             "--use", "network"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        rows = [row["prediction"] for row in json.loads(said.stdout)["predictions"]]
        with pytest.warns(UserWarning, match="Missing cells that were filled: 2 of 'promo'"):
            assert np.array_equal(run.predict(frame), np.array(rows))


def test_drawn_roles_are_those_of_the_command(command: Path, tmp_path: Path) -> None:
    frame = with_gaps(table()).drop(columns="split")
    shares = ["--set", "data.train=0.6", "--set", "data.validation=0.2", "--missing", "mean"]
    theirs = command_run(command, tmp_path, frame, *shares)
    same(fitted(frame, split=None, train=0.6, validation=0.2, missing="mean").result, theirs)


def test_every_kind_of_frame_gives_the_same_bits() -> None:
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    frame = table()
    expected = fitted(frame)
    assert expected.features_[:4] == ["x", "promo=flyer", "promo=none", "promo=tv"]
    frames = {
        "category": frame.assign(promo=frame["promo"].astype("category")),
        "text": frame.assign(day=frame["day"].dt.strftime("%d.%m.%Y"), age=frame["age"].astype(str)),
        "nullable": frame.convert_dtypes(),
        "objects": frame.astype(object),
        "columns": {name: frame[name].to_numpy() for name in frame},
        "polars": polars.from_pandas(frame),
        "lazy": polars.from_pandas(frame).lazy(),
        "arrow": pyarrow.Table.from_pandas(frame.assign(promo=frame["promo"].astype("category"))),
    }
    for name, one in frames.items():
        run = fitted(one)
        assert run.features_ == expected.features_, name
        assert np.array_equal(run.predict(frame), expected.predict(frame)), name
        assert np.array_equal(expected.predict(one), expected.predict(frame)), name


def test_files_of_all_kinds_give_the_bits_of_the_frame(command: Path, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    frame = table()
    category = frame.assign(promo=frame["promo"].astype("category"), day=frame["day"].dt.tz_localize("UTC"))
    writers = {
        "plain.csv": lambda path: frame.to_csv(path, index=False),
        "packed.csv.gz": lambda path: frame.to_csv(path, index=False),
        "packed.csv.zst": lambda path: write_zstd(frame, path),
        "semi.csv": lambda path: frame.to_csv(path, index=False, sep=";", decimal=","),
        "wide.csv": lambda path: frame.to_csv(path, index=False, sep="\t", encoding="utf-16"),
        "rows.parquet": lambda path: frame.to_parquet(path, index=False),
        "typed.parquet": lambda path: category.to_parquet(path, index=False, compression="gzip"),
        "typed.feather": lambda path: category.to_feather(path),
        "polars.arrow": lambda path: polars.from_pandas(category).write_ipc(path, compression="zstd"),
        "polars.parquet": lambda path: polars.from_pandas(category).write_parquet(path),
        "stream.arrow": lambda path: polars.from_pandas(frame).write_ipc_stream(path),
    }
    run = fitted(frame)
    for name, write in writers.items():
        write(tmp_path / name)
        theirs = file_run(command, tmp_path / name, tmp_path / f"run-{name}", "--split", "split")
        # What was recognised of a file is said of files only.
        theirs["notes"] = [note for note in theirs["notes"] if not note.startswith(name)]
        same(run.result, theirs)
        about = json.loads((tmp_path / f"run-{name}" / "models/about.json").read_text())
        assert run.features_ == about["features"], name


def write_zstd(frame: pd.DataFrame, path: Path) -> None:
    """A file of text, packed by zstd as Arrow's library does it."""
    import pyarrow

    with pyarrow.output_stream(str(path), compression="zstd") as packed:
        packed.write(frame.to_csv(index=False).encode())


def test_a_dict_of_frames_goes_by_the_same_plan() -> None:
    frame = table()
    features = ["x", "promo", "day", "open", "age"]
    parts = {node: (own[features], own["y"]) for node, own in frame.groupby("node")}
    split = {node: own["split"] for node, own in frame.groupby("node")}
    run = METHOD.fit(parts, network=network(), split=split)
    expected = fitted(frame)
    assert run.features_ == expected.features_
    assert np.array_equal(run.predict(frame, node="node"), expected.predict(frame))


def test_values_that_are_no_known_level_are_counted_and_said() -> None:
    frame = table()
    run = fitted(frame)
    with pytest.warns(UserWarning, match=r"levels: 100 of 'promo' \(the first is 'radio' in row 0\); they count as other"):
        run.predict(frame.assign(promo="radio"))
    again = pickle.loads(pickle.dumps(run))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(again.predict(frame), run.predict(frame))


def test_columns_can_be_declared_excluded_and_asked_for_by_pattern() -> None:
    frame = table()
    run = fitted(frame, exclude=["d*"], columns={"age": {"kind": "category", "levels": ["20", "21"], "other": True}})
    assert run.features_[-4:] == ["open", "age=20", "age=21", "age=(other)"]
    assert fitted(frame, features=["p*", "x"]).features_ == ["promo=flyer", "promo=none", "promo=tv", "x"]
    assert fitted(frame, columns={"promo": "ignore"}).features_[:2] == ["x", "day.days"]
    with pytest.raises(ValueError, match="data.columns: the frame has no column 'wage'; did you mean 'age'?"):
        fitted(frame, columns={"wage": "number"})
    with pytest.raises(ValueError, match="'promo' has 2 missing cells of 100 .first in row 7.*give missing="):
        fitted(with_gaps(frame))


def test_models_of_python_see_the_features_of_the_plan() -> None:
    sklearn = pytest.importorskip("sklearn.linear_model")
    frame = table()
    run = fg.FedRelax(0.3, sklearn.Ridge(), shuffles=1).fit(
        frame, "y", node="node", network=network(), split="split", exclude=["day"]
    )
    assert run.models_["n0"].n_features_in_ == len(run.features_) == 6
    assert np.isfinite(run.predict(frame)).all()
