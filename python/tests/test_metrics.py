"""What people read of predictions, against scikit-learn; and what is predicted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import made
from sklearn import metrics

import fedgrid as fg


def split(frame: pd.DataFrame) -> pd.DataFrame:
    """Half of the rows train, a quarter validates, a quarter tests."""
    return frame.assign(part=np.resize(["train", "test", "train", "val"], len(frame)))


def test_numbers_have_the_metrics_of_scikit_learn(path: fg.Network) -> None:
    frame = split(made(rows=24))
    run = fg.FedRelax(0.5).fit(frame, "y", node="node", network=path, split="part")
    for role, word in (("test", "test"), ("validation", "val")):
        rows = frame[frame["part"] == word]
        y, predicted, own = rows["y"], run.predict(rows), run.metrics(rows=role)
        expected = {
            "mse": metrics.mean_squared_error(y, predicted),
            "rmse": metrics.root_mean_squared_error(y, predicted),
            "mae": metrics.mean_absolute_error(y, predicted),
            "r2": metrics.r2_score(y, predicted),
        }
        assert own["rows"] == len(rows)
        assert {name: own[name] for name in expected} == pytest.approx(expected, rel=1e-9)
    table = run.compare().to_pandas()
    assert table.loc["network", "rmse"] == run.metrics()["rmse"]
    assert run.metrics("pooled")["mae"] == table.loc["pooled", "mae"]
    with pytest.raises(ValueError, match="there is no method 'poold', expected local, pooled"):
        run.metrics("poold")
    with pytest.raises(ValueError, match="rows is 'tset', expected test or validation"):
        run.metrics(rows="tset")


def test_counts_have_the_deviance_of_scikit_learn(path: fg.Network) -> None:
    frame = split(made(rows=24))
    frame["y"] = np.random.default_rng(1).poisson(np.exp(0.5 * frame["y"]))
    method = fg.FedRelax(0.5, fg.Poisson(ridge=0.1), metric="deviance", shuffles=1)
    run = method.fit(frame, "y", node="node", network=path, split="part")
    rows = frame[frame["part"] == "test"]
    deviance = metrics.mean_poisson_deviance(rows["y"], run.predict(rows))
    assert run.metrics()["deviance"] == pytest.approx(deviance, rel=1e-9)
    assert run.compare()["network"]["test"] == run.metrics()["deviance"]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rounded", [False, True])
def test_classes_have_the_metrics_of_scikit_learn(path: fg.Network, classes: int, rounded: bool) -> None:
    frame = split(made(rows=40))
    names = np.array(["high", "low", "mid"][:classes])
    frame["y"] = names[pd.qcut(frame["y"] + np.sin(np.arange(len(frame))), classes, labels=False)]
    # Trees give many rows the same probability: ties.
    model: Any = fg.Tree(max_depth=2) if rounded else fg.Logistic(ridge=0.1)
    run = fg.FedRelax(0.5, model, shuffles=1).fit(frame, "y", node="node", network=path, split="part", public=30)
    rows = frame[frame["part"] == "test"]
    y, given, own = rows["y"], run.predict_proba(rows), run.metrics()
    score = given[:, 1] if classes == 2 else given
    predicted = run.predict(rows)
    expected = {
        "accuracy": metrics.accuracy_score(y, predicted),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, predicted),
        "auc": metrics.roc_auc_score(y, score, multi_class="ovr", average="macro"),
    }
    assert {name: own[name] for name in expected} == pytest.approx(expected, rel=1e-9)
    # A probability of zero counts as 1e-12 here, and as 2.2e-16 there.
    kept = np.clip(given, 1e-12, None)
    truth = (np.asarray(y)[:, None] == run.classes_).astype(float)
    assert own["log_loss"] == pytest.approx(-(truth * np.log(kept)).sum(axis=1).mean(), rel=1e-9)
    if given.min() > 1e-12:
        assert own["log_loss"] == pytest.approx(metrics.log_loss(y, given), rel=1e-9)
    assert np.array_equal(own["confusion"], metrics.confusion_matrix(y, predicted, labels=run.classes_))
    if classes == 2:
        from sklearn.calibration import calibration_curve

        observed, means = calibration_curve(y, given[:, 1], n_bins=10, pos_label=run.classes_[1])
        bins = own["calibration"]["bins"]
        assert [one["observed"] for one in bins] == pytest.approx(list(observed))
        assert [one["predicted"] for one in bins] == pytest.approx(list(means))
    row = run.compare()["network"]
    assert (row["test"], row["accuracy"]) == (own["log_loss"], own["accuracy"])


def test_few_whole_numbers_are_asked_about(path: fg.Network) -> None:
    frame = made()
    frame["y"] = (frame["y"] > 0).astype(int)

    def fitted(method: Any, **more: Any) -> Any:
        return method.fit(frame, "y", node="node", network=path, public=20, **more)

    asked = "'y' has the 2 values 0 and 1: classes or numbers\\? give task=\"classification\" or task=\"regression\""
    for model in (None, fg.Tree()):
        with pytest.raises(ValueError, match=asked):
            fitted(fg.FedRelax(0.1, model))
    assert fitted(fg.FedRelax(0.1), task="regression").classes_ is None
    taken = fitted(fg.FedRelax(0.1), task="auto")
    assert taken.classes_.tolist() == [0, 1]
    said = " ".join(taken.notes_)
    assert "data.task is \"auto\": the 2 values of 'y' are classes." in said
    assert "so that models are logistic where none is named" in said
    assert 'task = "classification"' in taken.experiment()
    told = fitted(fg.FedRelax(0.1), task="classification")
    assert np.array_equal(told.predict_proba(frame), taken.predict_proba(frame))
    # Whoever names a model of numbers has them, also where it is left to the target.
    for task in (None, "auto"):
        assert fitted(fg.FedRelax(0.1, fg.Linear(ridge=0.1)), task=task).classes_ is None
    with pytest.raises(ValueError, match="task is 'guess', expected regression, classification or auto"):
        fitted(fg.FedRelax(0.1), task="guess")


def test_estimators_say_what_they_predict(path: fg.Network) -> None:
    from sklearn.linear_model import LinearRegression, LogisticRegression

    frame = made()
    frame["y"] = (frame["y"] > 0).astype(int)
    for model, classes in ((LinearRegression(), None), (LogisticRegression(), [0, 1])):
        run = fg.Local(model).fit(frame, "y", node="node")
        assert (None if run.classes_ is None else run.classes_.tolist()) == classes


@pytest.mark.parametrize("kind", ["text", "truths"])
def test_classes_get_logistic_models_where_none_is_named(path: fg.Network, kind: str) -> None:
    frame = made(classes=True)
    if kind == "truths":
        frame["y"] = frame["y"] == "high"
    run = fg.Auto(shuffles=0).fit(frame, "y", node="node", network=path, public=20)
    assert "so that models are logistic where none is named" in " ".join(run.notes_)
    assert 'kind = "logistic"' in run.experiment()
    assert len(run.classes_) == 2
    with pytest.raises(ValueError, match="linear.* predicts numbers"):
        fg.Auto(fg.Linear()).fit(frame, "y", node="node", network=path)


def test_strengths_are_chosen_by_the_metric_that_is_asked_for(path: fg.Network) -> None:
    frame = split(made(rows=24))
    run = fg.FedRelax(metric="mae", shuffles=1).fit(frame, "y", node="node", network=path, split="part")
    assert run.result["metric"] == "mae"
    assert run.compare()["network"]["test"] == run.metrics()["mae"]
    with pytest.raises(ValueError, match='compare.metric is "auc", which is no mean over rows'):
        fg.FedRelax(metric="auc").fit(frame, "y", node="node", network=path)
