"""A whole comparison on 60 nodes with 800 rows, 2 features and 3 classes, against loops over scikit-learn.

Run by `make bench`; the goal is that our comparison (every method, five shuffled networks, evidence) takes less processor
time than the loops that a user would write for three of its rows: a model for every node, one for all, and nodes whose own
rows count beside everybody's with a weight that cross-validation chooses. Both are processor seconds of this process.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold

import fedgrid as fg

NODES, ROWS, CLASSES = 60, 800, 3
SHARES = np.logspace(-3, 0, 10)


def frame() -> tuple[pd.DataFrame, np.ndarray]:
    """Rows whose classes depend on two features in a way that changes slowly over the plane, and places."""
    draws = np.random.default_rng(3)
    places = draws.uniform(0.0, 10.0, size=(NODES, 2))
    node = np.concatenate([np.arange(NODES), draws.integers(0, NODES, size=ROWS - NODES)])
    X = draws.normal(size=(ROWS, 2))
    turn = 0.5 * places[node, 0]
    score = np.cos(turn) * X[:, 0] + np.sin(turn) * X[:, 1] + 0.4 * draws.normal(size=ROWS)
    level = np.array(["high", "low", "mid"])[np.digitize(score, [-0.5, 0.5])]
    return pd.DataFrame({"node": node, "a": X[:, 0], "b": X[:, 1], "level": level}), places


def folds(count: int) -> KFold:
    return KFold(min(5, count), shuffle=True, random_state=1)


def alone(X: np.ndarray, y: np.ndarray, node: np.ndarray) -> None:
    for own in (node == k for k in range(NODES)):
        if len(set(y[own])) > 1:
            LogisticRegressionCV(cv=folds(own.sum()), scoring="accuracy").fit(X[own], y[own])


def pooled(X: np.ndarray, y: np.ndarray, node: np.ndarray) -> None:
    LogisticRegressionCV(cv=folds(len(y))).fit(X, y)


def shrunk(X: np.ndarray, y: np.ndarray, node: np.ndarray) -> None:
    """Every node's rows in full and all others with the weight of least error on its held-out rows."""
    classes = np.unique(y)
    for own in (np.flatnonzero(node == k) for k in range(NODES)):
        others = np.setdiff1d(np.arange(len(y)), own)

        def model(share: float, rows: np.ndarray, others: np.ndarray = others) -> LogisticRegression:
            used = np.concatenate([rows, others])
            weights = np.concatenate([np.ones(len(rows)), np.full(len(others), share)])
            return LogisticRegression().fit(X[used], y[used], sample_weight=weights)

        def error(share: float, own: np.ndarray = own) -> float:
            split = folds(len(own)).split(own) if len(own) > 1 else []
            told = [(model(share, own[a]).predict_proba(X[own[b]]), y[own[b]]) for a, b in split]
            return sum(len(b) * log_loss(b, p, labels=classes) for p, b in told)

        model(min(SHARES, key=error), own)


def seconds(act: Callable[[], object]) -> float:
    begun = time.process_time()
    act()
    return time.process_time() - begun


def main() -> None:
    warnings.simplefilter("ignore")
    data, places = frame()
    table = {"node": list(range(NODES)), "east": places[:, 0], "north": places[:, 1]}
    network = fg.Network.nearest(table, ["east", "north"], node="node", neighbours=5)
    ours = seconds(lambda: fg.Auto(fg.Logistic()).fit(data, "level", node="node", network=network, progress=False))
    arrays = data[["a", "b"]].to_numpy(), data["level"].to_numpy(), data["node"].to_numpy()
    loops = {loop.__name__: seconds(lambda loop=loop: loop(*arrays)) for loop in (alone, pooled, shrunk)}
    print(f"three classes, the whole comparison: {ours:.1f} s; scikit-learn", end=" ")
    print(", ".join(f"{name} {spent:.1f} s" for name, spent in loops.items()), end="; ")
    print(f"ratio {ours / sum(loops.values()):.2f} (goal below 1)")


if __name__ == "__main__":
    main()
