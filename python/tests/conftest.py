"""What the tests share: small networks of small frames."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fedgrid as fg

ROOT = Path(__file__).resolve().parents[2]
COLORADO = ROOT / "examples" / "colorado"
FEATURES = ["sin1", "cos1", "sin2", "cos2"]

# Keras has to be told which of its backends is there.
BACKENDS = [name for name in ("jax", "torch", "tensorflow") if find_spec(name) is not None]
if BACKENDS:
    os.environ.setdefault("KERAS_BACKEND", BACKENDS[0])


@pytest.fixture(scope="session")
def command() -> Path:
    """The command `fedgrid`, as `make test` has built it."""
    built = [ROOT / "target" / kind / "fedgrid" for kind in ("debug", "release")]
    named = os.environ.get("FEDGRID")
    found = [path for path in ([Path(named)] if named else built) if path.exists()]
    if not found:
        pytest.skip("the command is not built: cargo build, or name it in FEDGRID")
    return found[0]


@pytest.fixture(scope="session")
def readings() -> pd.DataFrame:
    return pd.read_csv(COLORADO / "readings.csv")


@pytest.fixture(scope="session")
def stations() -> fg.Network:
    table = pd.read_csv(COLORADO / "stations.csv")
    scales = {"lon": 85, "lat": 111, "elevation_m": 0.25}
    return fg.Network.nearest(table, scales, node="station", neighbours=8)


def made(nodes: int = 6, rows: int = 8, classes: bool = False, seed: int = 0) -> pd.DataFrame:
    """Nodes whose slopes change slowly from one to the next."""
    draws = np.random.default_rng(seed)
    node = np.repeat(np.arange(nodes), rows)
    X = draws.normal(size=(nodes * rows, 3))
    slope = np.cos(0.5 * node)
    y: Any = slope * X[:, 0] + X[:, 1] + 0.1 * draws.normal(size=len(X))
    if classes:
        y = np.where(y > 0, "high", "low")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    return frame.assign(node=[f"n{k}" for k in node], y=y)


@pytest.fixture
def frame() -> pd.DataFrame:
    return made()


@pytest.fixture
def path() -> fg.Network:
    return fg.Network.shape("path", [f"n{k}" for k in range(6)])
