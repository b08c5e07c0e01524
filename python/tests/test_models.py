"""Python objects as local models: mixed, cloned, checked, stopped."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import made
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, LinearSVC
from sklearn.tree import DecisionTreeRegressor

import fedgrid as fg


def fit(model: Any, frame: pd.DataFrame, network: fg.Network, **options: Any) -> fg.Run:
    method = fg.FedRelax(alpha=0.5, model=model, rounds=options.pop("rounds", 4), **options)
    return method.fit(frame, "y", node="node", network=network, public=20, folds=2)


def test_without_pull_a_model_is_its_own_plain_fit(frame: pd.DataFrame, path: fg.Network) -> None:
    for model in (Ridge(alpha=1.0), SVR(), RandomForestRegressor(5, random_state=0)):
        run = fg.FedRelax(alpha=0.0, model=model).fit(frame, "y", node="node", network=path)
        rows = frame[frame["node"] == "n2"]
        X = np.ascontiguousarray(rows[["a", "b", "c"]])
        plain = type(model)(**model.get_params()).fit(X, rows["y"])
        assert np.array_equal(run.predict(rows), plain.predict(X))


@pytest.mark.parametrize("alpha", [1e-9, 1e-6])
def test_next_to_no_pull_is_local_training(frame: pd.DataFrame, path: fg.Network, alpha: float) -> None:
    models = [
        RandomForestRegressor(5, random_state=0),
        ExtraTreesRegressor(5, random_state=0),
        GradientBoostingRegressor(n_estimators=5, random_state=0),
        HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=2),
        KNeighborsRegressor(3),
        DecisionTreeRegressor(random_state=0),
        SVR(),
        LinearRegression(),
        GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=2),
        fg.Functions(lambda X, y, w: np.average(y, weights=w), lambda level, X: np.full(len(X), level)),
    ]
    for model in models:
        runs = [
            fg.FedRelax(a, model, rounds=3).fit(frame, "y", node="node", network=path, public=50)
            for a in (0.0, alpha)
        ]
        assert np.array_equal(runs[0].predict(frame), runs[1].predict(frame)), model
        assert any("next to no pull" in note for note in runs[1].notes_), model


def test_ridge_of_scikit_learn_is_our_linear_model(frame: pd.DataFrame, path: fg.Network) -> None:
    # Eight rows weigh one each instead of an eighth. One model of scikit-learn among ours is enough for rows to
    # be read as they are.
    ridge = Ridge(alpha=0.02 * 8)
    ours = fg.FedRelax(alpha=0.5, model={"n0": ridge, ...: fg.Linear(ridge=0.02)}, rounds=9, tolerance=0.0)
    theirs = fg.FedRelax(alpha=0.5, model=ridge, rounds=9, tolerance=0.0)
    runs = [m.fit(frame, "y", node="node", network=path, public=30) for m in (ours, theirs)]
    assert np.allclose(runs[0].predict(frame), runs[1].predict(frame), rtol=1e-8)
    assert np.allclose(runs[0].history["objective"], runs[1].history["objective"], rtol=1e-6)


def test_a_perceptron_stops_when_its_patience_ends(frame: pd.DataFrame, path: fg.Network) -> None:
    def answers(epochs: int, **stopping: Any) -> Any:
        model = fg.Perceptron(layers=[4], epochs=epochs, batch=1, step_size=0.1, ridge=0.01, **stopping)
        return fg.FedRelax(0.0, model).fit(frame, "y", node="node", network=path).predict(frame)

    assert np.array_equal(answers(100, patience=3, held_back=0.5), answers(200, patience=3, held_back=0.5))
    assert not np.array_equal(answers(100, patience=0), answers(200, patience=0))
    with pytest.raises(ValueError, match="model.held_back is 1, expected zero or more and below one"):
        answers(1, held_back=1.0)


def test_a_network_of_different_models(frame: pd.DataFrame, path: fg.Network) -> None:
    models = {
        "n0": Ridge(),
        "n1": RandomForestRegressor(5),
        "n2": GradientBoostingRegressor(n_estimators=5),
        "n3": make_pipeline(StandardScaler(), SVR()),
        "n4": fg.Functions(
            lambda X, y, w: np.average(y, weights=w), lambda level, X: np.full(len(X), level)
        ),
        ...: fg.Tree(max_depth=3),
    }
    runs = [fit(models, frame, path, n_jobs=n, shuffles=0, rounds=2) for n in (1, 4)]
    assert np.array_equal(runs[0].predict(frame), runs[1].predict(frame))
    kinds = [node["model"] for node in runs[0].result["nodes"]]
    assert kinds == [
        "Ridge", "RandomForestRegressor", "GradientBoostingRegressor", "Pipeline", "Functions", "tree",
    ]  # fmt: skip
    assert isinstance(runs[0].models_["n1"], RandomForestRegressor)
    assert runs[0].models_["n5"]["kind"] == "tree"
    assert not hasattr(models["n0"], "coef_") and models["n1"].random_state is None


def test_classes_by_every_kind_of_classifier(path: fg.Network) -> None:
    frame = made(classes=True)
    for model in (LogisticRegression(), RandomForestClassifier(5), LinearSVC(), fg.Logistic(ridge=0.01)):
        run = fit(model, frame, path)
        assert list(run.classes_) == ["high", "low"]
        assert np.mean(run.predict(frame) == frame["y"]) > 0.7, model
        shares = run.predict_proba(frame)
        assert shares.shape == (48, 2) and np.allclose(shares.sum(axis=1), 1.0)
    one = frame.assign(y=np.where(frame["node"] == "n0", "low", frame["y"]))
    run = fit(LogisticRegression(), one, path)
    assert set(run.predict(one)) == {"high", "low"}


def test_a_model_without_sample_weight_is_resampled_or_refused(
    frame: pd.DataFrame, path: fg.Network
) -> None:
    run = fit(KNeighborsRegressor(3), frame, path)
    assert np.isfinite(run.predict(frame)).all()
    with pytest.raises(ValueError, match="node 'n.': KNeighborsRegressor.fit takes no sample_weight"):
        fit(fg.Estimator(KNeighborsRegressor(3), without_weights="refuse"), frame, path)


def test_rows_of_weight_zero_are_never_seen(frame: pd.DataFrame) -> None:
    seen = []

    class Watcher(LinearRegression):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            seen.append(sample_weight)
            return super().fit(X, y, sample_weight)

    alone = fg.Network([f"n{k}" for k in range(6)])
    fit(Watcher(), frame, alone)
    assert all(w is None or (w > 0).all() for w in seen)


class Bad:
    """A model that answers in the way it is told."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Bad:
        return self

    def predict(self, X: Any) -> Any:
        return self.answer(X)


def test_answers_of_every_kind_are_taken_or_refused_with_the_node(
    frame: pd.DataFrame, path: fg.Network
) -> None:
    fine = [
        lambda X: np.zeros(len(X), dtype=np.float32),
        lambda X: [0.0] * len(X),
        lambda X: np.zeros((len(X), 1)),
        lambda X: np.zeros(len(X), dtype=int),
    ]
    for answer in fine:
        run = fit({"n3": Bad(answer), ...: Ridge()}, frame, path)
        assert np.array_equal(run.predict(frame[frame["node"] == "n3"]), np.zeros(8))
    wrong: list[tuple[Any, str]] = [
        (lambda X: np.full(len(X), np.nan), "node 'n3': Bad predicted nan for row 0"),
        (lambda X: np.zeros(len(X) + 1), r"node 'n3': Bad predicted shape \(\d+,\) for \d+ rows"),
        (lambda X: np.zeros((len(X), 2)), r"node 'n3': Bad predicted shape"),
        (lambda X: 0.0, "node 'n3': Bad predicted shape"),
    ]
    for answer, sentence in wrong:
        with pytest.raises(ValueError, match=sentence):
            fit({"n3": Bad(answer), ...: Ridge()}, frame, path)
    with pytest.raises(ValueError) as caught:
        fit({"n3": Bad(lambda X: ["warm"] * len(X)), ...: Ridge()}, frame, path)
    assert caught.value.__notes__ == ["predictions must be numbers", "raised by the Bad of node 'n3'"]


class Refuses(Ridge):
    """A model that fails."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        raise ZeroDivisionError("no luck")


def test_an_exception_arrives_as_itself_with_its_node(frame: pd.DataFrame, path: fg.Network) -> None:
    for threads in (1, 4):
        with pytest.raises(ZeroDivisionError, match="no luck") as caught:
            fit({"n2": Refuses(), ...: Ridge()}, frame, path, n_jobs=threads)
        assert caught.value.__notes__ == ["raised by the Refuses of node 'n2'"]
        run = fit(Ridge(), frame, path)  # and nothing is left of it
        assert np.isfinite(run.predict(frame)).all()


def test_other_threads_go_on_and_fits_may_be_nested(frame: pd.DataFrame, path: fg.Network) -> None:
    class Nested(Ridge):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            inner = fg.FedRelax(alpha=0.1, model=fg.Linear(ridge=0.1), n_jobs=2)
            inner.fit({"a": (X, y), "b": (X, y)}, network=fg.Network("ab", ["ab"]), progress=False)
            return super().fit(X, y, sample_weight)

    counted, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    runs: list[fg.Run] = []
    both = [threading.Thread(target=lambda: runs.append(fit(Nested(), frame, path, n_jobs=4))) for _ in range(2)]
    for worker in both:
        worker.start()
    for worker in both:
        worker.join(timeout=60)
    stop.set()
    thread.join()
    assert len(runs) == 2 and counted[0] > 1
    assert np.array_equal(runs[0].predict(frame), runs[1].predict(frame))


def test_rounds_and_cards_reach_callbacks_and_a_callback_may_stop_the_run(
    frame: pd.DataFrame, path: fg.Network
) -> None:
    class Listener:
        def __init__(self) -> None:
            self.rounds: list[int] = []
            self.ended = False

        def on_round(self, record: dict[str, Any]) -> None:
            self.rounds.append(record["round"])

        def on_end(self, run: fg.Run) -> None:
            self.ended = True

    class Stopper:
        def on_round(self, record: dict[str, Any]) -> None:
            raise StopIteration("enough")

    listener = Listener()
    method = fg.FedRelax(alpha=0.5, model=DecisionTreeRegressor(max_depth=2), rounds=5, tolerance=0.0)
    run = method.fit(frame, "y", node="node", network=path, callbacks=[listener], progress=False)
    assert listener.rounds == [1, 2, 3, 4, 5] and listener.ended
    assert run.history["round"] == listener.rounds
    assert list(run.history.to_pandas()["residual"]) == run.history["residual"]
    with pytest.raises(StopIteration, match="enough"):
        method.fit(frame, "y", node="node", network=path, callbacks=[Stopper()])
