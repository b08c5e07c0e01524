"""scikit-learn's own checks, and what they cannot check: many nodes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import made
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import fedgrid as fg


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["FedRelaxRegressor", "FedRelaxClassifier"])
def test_check_estimator(kind: str) -> None:
    found = check_estimator(getattr(fg, kind)(), on_fail=None, on_skip=None)
    failed = [(one["check_name"], one["exception"]) for one in found if one["status"] == "failed"]
    assert not failed
    assert sum(one["status"] == "passed" for one in found) > 40


def test_the_node_as_a_column_or_as_groups(frame: pd.DataFrame, path: fg.Network) -> None:
    X, y = frame.drop(columns="y"), frame["y"]
    by_column = fg.FedRelaxRegressor(alpha=0.5, network=path, node="node").fit(X, y)
    features = X[["a", "b", "c"]]
    by_groups = fg.FedRelaxRegressor(alpha=0.5, network=path).fit(features, y, groups=X["node"])
    answers = by_groups.predict(features, groups=X["node"])
    assert np.array_equal(by_column.predict(X), answers)
    direct = fg.FedRelax(alpha=0.5, model=fg.Linear(ridge=1e-6)).fit(frame, "y", node="node", network=path)
    assert np.array_equal(direct.predict(frame), answers)
    numbers = np.column_stack([features, [int(name[1:]) for name in X["node"]]])
    numbered = fg.FedRelaxRegressor(alpha=0.5, network=fg.Network.shape("path", 6), node=3)
    assert np.array_equal(numbered.fit(numbers, y).predict(numbers), answers)
    with pytest.raises(ValueError, match="the node of each row is not known"):
        by_groups.predict(features)


def test_searches_pipelines_and_clones(frame: pd.DataFrame, path: fg.Network) -> None:
    X, y = frame.drop(columns="y"), frame["y"]
    estimator = fg.FedRelaxRegressor(network=path, node="node")
    search = GridSearchCV(estimator, {"alpha": [0.0, 0.1, 1.0]}, cv=3)
    search.fit(X.sample(frac=1.0, random_state=0), y.sample(frac=1.0, random_state=0))
    assert search.best_params_["alpha"] in (0.0, 0.1, 1.0) and search.best_score_ > 0.5
    pipe = make_pipeline(FunctionTransformer(), estimator)
    assert cross_val_score(pipe, X, y, cv=3).shape == (3,)
    copy = clone(estimator)
    assert copy.network == path and copy.get_params().keys() == estimator.get_params().keys()


def test_fitted_runs_survive_pickling_with_any_model(frame: pd.DataFrame, path: fg.Network) -> None:
    from sklearn.tree import DecisionTreeRegressor

    for model in (None, fg.Forest(trees=3), DecisionTreeRegressor(max_depth=2)):
        X, y = frame.drop(columns="y"), frame["y"]
        fitted = fg.FedRelaxRegressor(alpha=0.2, model=model, network=path, node="node", rounds=3)
        fitted.fit(X, y)
        again = pickle.loads(pickle.dumps(fitted))
        assert np.array_equal(again.predict(X), fitted.predict(X))
        with pytest.raises(RuntimeError, match="pickled"):
            again.run_.compare()


def test_a_classifier_of_many_nodes() -> None:
    frame: Any = made(classes=True)
    network = fg.Network.shape("path", [f"n{k}" for k in range(6)])
    X, y = frame.drop(columns="y"), frame["y"]
    fitted = fg.FedRelaxClassifier(alpha=0.1, network=network, node="node").fit(X, y)
    assert fitted.score(X, y) > 0.8
    assert np.allclose(fitted.predict_proba(X).sum(axis=1), 1.0)


def test_a_search_over_ranges_of_numpy(frame: pd.DataFrame, path: fg.Network) -> None:
    X, y = frame.drop(columns="y"), frame["y"]
    grid = {
        "alpha": np.arange(1, 3), "rounds": np.arange(2, 4), "tolerance": np.logspace(-3, -2, 2),
        "random_state": [np.int64(1)], "model": [fg.Linear(ridge=r) for r in np.float32([0.1, 1.0])],
        "public": [np.int64(20)],
    }  # fmt: skip
    search = GridSearchCV(fg.FedRelaxRegressor(network=path, node="node"), grid, cv=2)
    search.fit(X.sample(frac=1.0, random_state=0), y.sample(frac=1.0, random_state=0))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_columns_in_another_order_are_refused(frame: pd.DataFrame, path: fg.Network) -> None:
    X, y = frame.drop(columns="y"), frame["y"]
    fitted = fg.FedRelaxRegressor(alpha=0.5, network=path, node="node").fit(X, y)
    with pytest.raises(ValueError, match="in the same order"):
        fitted.predict(X[["node", "c", "b", "a"]])
    moved = fitted.predict(X[["a", "node", "b", "c"]])  # only the node's column stands elsewhere
    assert np.array_equal(moved, fitted.predict(X))
