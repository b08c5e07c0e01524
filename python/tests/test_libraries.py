"""Libraries that may be there or not: torch, Keras, XGBoost, LightGBM, and the trackers of experiments.
Each test is skipped with its reason where the library is not installed."""

from __future__ import annotations

import pickle
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import made
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.svm import SVR

import fedgrid as fg


def fit(model: Any, frame: pd.DataFrame, network: fg.Network, **options: Any) -> fg.Run:
    method = fg.FedRelax(model=model, **{"alpha": 0.5, "rounds": 4, **options})
    return method.fit(frame, "y", node="node", network=network, public=20)


def needs(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed")


# torch ------------------------------------------------------------------------------------------


def test_torch_nets_beside_others(frame: pd.DataFrame, path: fg.Network) -> None:
    torch = needs("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    before = [p.detach().clone() for p in net.parameters()]
    models = {
        "n0": Ridge(), "n1": RandomForestRegressor(5), "n2": GradientBoostingRegressor(n_estimators=5),
        "n3": SVR(), ...: fg.TorchModel(net, epochs=30),
    }  # fmt: skip
    runs = [fit(models, frame, path, n_jobs=n) for n in (1, 3)]
    assert np.array_equal(runs[0].predict(frame), runs[1].predict(frame))
    assert np.mean((runs[0].predict(frame) - frame["y"]) ** 2) < np.var(frame["y"])
    assert all(torch.equal(p, q) for p, q in zip(net.parameters(), before))
    again = pickle.loads(pickle.dumps(runs[0]))
    assert np.array_equal(again.predict(frame), runs[0].predict(frame))


def test_a_linear_torch_module_is_our_linear_model(frame: pd.DataFrame, path: fg.Network) -> None:
    torch = needs("torch")
    linear = torch.nn.Linear(3, 1).double()
    torch.nn.init.zeros_(linear.weight)
    torch.nn.init.zeros_(linear.bias)
    for method in (
        fg.PersFL(0.05, rounds=20, candidates=3),
        fg.GTV(alpha=0.1, solver="rounds", rounds=50, penalty="norm", tolerance=0.0),
    ):
        answers = []
        for model in (fg.TorchModel(linear), fg.Linear(ridge=0.0)):
            method.set_params(model=model)
            network = None if isinstance(method, fg.PersFL) else path
            answers.append(method.fit(frame, "y", node="node", network=network).predict(frame))
        assert np.allclose(answers[0], answers[1], atol=1e-5), method
    averaged = fg.FedAvg(1.0, fg.TorchModel(linear), rounds=20).fit(frame, "y", node="node")
    assert np.mean((averaged.predict(frame) - frame["y"]) ** 2) < 0.5 * np.var(frame["y"])


def test_torch_classes_and_batches(path: fg.Network) -> None:
    torch = needs("torch")
    torch.manual_seed(0)
    frame = made(classes=True)
    run = fit(fg.TorchModel(torch.nn.Linear(3, 2), epochs=30, batch=8), frame, path)
    assert np.mean(run.predict(frame) == frame["y"]) > 0.7
    assert np.allclose(run.predict_proba(frame).sum(axis=1), 1.0)
    with pytest.raises(RuntimeError) as caught:
        fit({"n1": fg.TorchModel(torch.nn.Linear(7, 2)), ...: fg.Tree()}, frame, path)
    assert caught.value.__notes__ == ["raised by the Linear of node 'n1'"]


# Boosting libraries -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("library", "kind"),
    [("xgboost", "XGBRegressor"), ("lightgbm", "LGBMRegressor")],
)
def test_boosting_libraries_beside_ours(
    library: str, kind: str, frame: pd.DataFrame, path: fg.Network
) -> None:
    quiet = {"xgboost": {}, "lightgbm": {"verbosity": -1, "min_child_samples": 2}}[library]
    model = getattr(needs(library), kind)(n_estimators=20, n_jobs=1, random_state=0, **quiet)
    rows = frame[frame["node"] == "n1"]
    alone = fit(model, frame, path, alpha=0.0)
    features = ["a", "b", "c"]
    plain = type(model)(**model.get_params()).fit(rows[features].to_numpy(), rows["y"].to_numpy())
    expected = plain.predict(rows[features].to_numpy())
    assert np.allclose(alone.predict(rows), expected, rtol=1e-6, atol=1e-6)
    models = {"n0": Ridge(), "n1": fg.Boosting(), ...: model}
    runs = [fit(models, frame, path, n_jobs=n) for n in (1, 3)]
    assert np.array_equal(runs[0].predict(frame), runs[1].predict(frame))
    assert np.mean((runs[0].predict(frame) - frame["y"]) ** 2) < np.var(frame["y"])
    assert not hasattr(model, "n_features_in_"), "the given estimator is never fitted"


@pytest.mark.parametrize(
    ("library", "kind"),
    [("xgboost", "XGBClassifier"), ("lightgbm", "LGBMClassifier")],
)
def test_classes_of_boosting_libraries(library: str, kind: str, path: fg.Network) -> None:
    frame = made(classes=True)
    quiet = {"xgboost": {}, "lightgbm": {"verbosity": -1, "min_child_samples": 2}}[library]
    model = getattr(needs(library), kind)(n_estimators=20, n_jobs=1, random_state=0, **quiet)
    run = fit(model, frame, path)
    assert np.mean(run.predict(frame) == frame["y"]) > 0.7
    assert np.allclose(run.predict_proba(frame).sum(axis=1), 1.0)


# Keras ------------------------------------------------------------------------------------------


def keras_net(outputs: int = 1) -> Any:
    import keras

    keras.utils.set_random_seed(0)
    last = keras.layers.Dense(outputs, activation="softmax" if outputs > 1 else None)
    return keras.Sequential([keras.layers.Dense(4, activation="tanh"), last])


def keras_classes() -> Any:
    return keras_net(2)


@pytest.fixture
def keras() -> Any:
    return needs("keras")


def test_keras_beside_others(keras: Any, frame: pd.DataFrame, path: fg.Network) -> None:
    # An optimizer belongs to the model that used it: every node needs its own.
    model = fg.KerasModel(keras_net, optimizer=keras.optimizers.Adam(0.05), epochs=5)
    runs = [fit({"n0": Ridge(), ...: model}, frame, path, n_jobs=n, rounds=2) for n in (1, 3)]
    answers = runs[0].predict(frame)
    assert np.array_equal(answers, runs[1].predict(frame))
    assert np.mean((answers - frame["y"]) ** 2) < np.var(frame["y"])
    learnt = runs[0].models_["n3"]
    rows = frame[frame["node"] == "n3"]
    own = np.asarray(learnt.model()(rows[["a", "b", "c"]].to_numpy())).reshape(-1)
    assert np.allclose(own, runs[0].predict(rows), atol=1e-5)
    again = pickle.loads(pickle.dumps(runs[0]))
    assert np.allclose(again.predict(frame), answers, atol=1e-6)


def test_keras_goes_on_from_where_a_node_is(keras: Any, frame: pd.DataFrame) -> None:
    adapter = fg.KerasModel(keras_net, optimizer="sgd", epochs=3).adapter("n0", None, 0)
    X, y, weights = frame[["a", "b", "c"]].to_numpy(), frame["y"].to_numpy(), np.ones(len(frame))
    first = adapter.fit(X, y, weights, None)
    second = adapter.fit(X, y, weights, first)
    errors = [np.mean((adapter.predict(fitted, X) - y) ** 2) for fitted in (first, second)]
    assert errors[1] < errors[0]
    assert np.array_equal(adapter.predict(adapter.fit(X, y, weights, None), X), adapter.predict(first, X))


def test_keras_classes(keras: Any, path: fg.Network) -> None:
    frame = made(classes=True)
    model = fg.KerasModel(keras_classes, optimizer=keras.optimizers.Adam(0.05), epochs=10)
    run = fit(model, frame, path, rounds=2)
    assert np.mean(run.predict(frame) == frame["y"]) > 0.7


# Trackers ---------------------------------------------------------------------------------------


def tracked(callback: Any) -> fg.Run:
    """A run of three rounds."""
    rows = {k: ([[0.0], [1.0], [2.0]], [0.0, 1.0 + k, 2.0]) for k in range(4)}
    method = fg.FedRelax(alpha=0.1, model=fg.Tree(max_depth=1), rounds=3, tolerance=0.0)
    return method.fit(rows, network=fg.Network.shape("ring", 4), callbacks=[callback])


def test_tensorboard(tmp_path: Path) -> None:
    if not any(find_spec(name) for name in ("tensorboardX", "torch")):
        pytest.skip("neither tensorboardX nor torch is installed")
    needs("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = tracked(fg.callbacks.TensorBoard(str(tmp_path)))
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    found = events.Scalars("fedgrid/objective")
    assert [event.step for event in found] == [1, 2, 3]
    assert np.allclose([event.value for event in found], run.history["objective"])


def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The lean mlflow has no database to write to.
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = needs("mlflow")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with mlflow.start_run() as active:
        run = tracked(fg.callbacks.MLflow())
    client = mlflow.MlflowClient()
    found = client.get_metric_history(active.info.run_id, "objective")
    assert [metric.value for metric in found] == run.history["objective"]
    params = client.get_run(active.info.run_id).data.params
    assert params["method"] == "fedrelax" and float(params["alpha"]) == 0.1


def test_weights_and_biases(tmp_path: Path) -> None:
    wandb = needs("wandb")
    with wandb.init(mode="offline", dir=str(tmp_path), project="fedgrid") as active:
        run = tracked(fg.callbacks.WandB())
        kept = dict(active.summary)
    assert kept["objective"] == run.history["objective"][-1] and kept["alpha"] == 0.1
