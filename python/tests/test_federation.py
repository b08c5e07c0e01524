"""Sites with models of Python's: real processes over QUIC on this machine, and the bits of one process whatever is killed."""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import made

import fedgrid as fg

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
ROUNDS = 25
#: The sites of three processes, and the nodes of each along a path.
SITES = {"forest": ["n0", "n1"], "boosted": ["n2", "n3"], "plain": ["n4", "n5"]}

#: What sites find beside their rows: models whose fits end with the same bits, and one that takes its time.
MODELS = '''
import time
import warnings
import numpy as np
import fedgrid as fg
# A pipe that nobody reads until the end holds 64 kB, and a perceptron complains of every fit that ends early.
warnings.simplefilter("ignore")
from sklearn.ensemble import RandomForestRegressor
from sklearn.neural_network import MLPRegressor

def forest():
    return RandomForestRegressor(20, min_samples_leaf=12, random_state=5)

class Slow(RandomForestRegressor):
    def fit(self, X, y, sample_weight=None):
        time.sleep(0.06)
        return super().fit(X, y, sample_weight)

def slow():
    return Slow(20, min_samples_leaf=12, random_state=5)

def boosted():
    try:
        from xgboost import XGBRegressor
    except ImportError:
        return MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs", max_iter=30, alpha=3.0, random_state=2)
    return XGBRegressor(n_estimators=4, max_depth=1, learning_rate=0.5, min_child_weight=20, reg_lambda=8, n_jobs=1)

def mean(X, y, weights):
    return np.average(y, weights=weights)

def level(fitted, X):
    return np.full(len(X), fitted)

def at_level():
    return fg.Functions(mean, level, name="Level")
'''


class Project:
    """An experiment with its rows, and a federation of it."""

    def __init__(self, folder: Path, sites: dict[str, list[str]], keys: str = "", frame: Any = None) -> None:
        self.folder, self.sites = folder, sites
        self.frame = made(6, 60, seed=4) if frame is None else frame
        self.network = fg.Network.from_edges(
            [(f"n{k}", f"n{k + 1}", 1.0) for k in range(5)], nodes=[f"n{k}" for k in range(6)]
        )
        self.frame["split"] = np.where(np.arange(len(self.frame)) % 5 == 4, "test", "train")
        self.frame.to_csv(folder / "rows.csv", index=False)
        edges = "".join(f"n{k},n{k + 1},1.0\n" for k in range(5))
        (folder / "edges.csv").write_text("src,dst,weight\n" + edges)
        (folder / "models_here.py").write_text(MODELS)
        model = "" if "[model]" in keys else "[model]\nkind = \"linear\"\nridge = 0.01\n"
        federation = "" if "[federation]" in keys else "[federation]\nown_models = true\n"
        method = f"[method]\nkind = \"fedrelax\"\nalpha = 2.0\nrounds = {ROUNDS}\ntolerance = 0.0\n"
        (folder / "experiment.toml").write_text(
            "seed = 3\n[data]\nfile = \"rows.csv\"\nnode = \"node\"\ntarget = \"y\"\nsplit = \"split\"\n"
            "[network]\nedges = \"edges.csv\"\n[public]\npoints = 30\n"
            f"{method if '[method]' not in keys else ''}{model}{federation}{keys}"
        )
        port = free_port()
        text = "".join(
            f"[[site]]\nname = \"{name}\"\naddress = \"127.0.0.1:{port + place}\"\nnodes = {json.dumps(nodes)}\n"
            for place, (name, nodes) in enumerate(sites.items())
        )
        (folder / "sites.toml").write_text(text)
        self.made = fg.federation.new(folder / "experiment.toml", sites=folder / "sites.toml", out=folder / "home")

    def kit(self, site: str) -> Path:
        return self.folder / "home" / "kits" / site

    def rows(self, site: str) -> pd.DataFrame:
        own: pd.DataFrame = self.frame[self.frame["node"].isin(self.sites[site])]
        return own

    def file(self, site: str) -> Path:
        path = self.folder / f"{site}.csv"
        self.rows(site).to_csv(path, index=False)
        return path

    def begun(self, site: str, *more: str, command: Path | None = None) -> subprocess.Popen[str]:
        """A process that joins, of the command or of Python."""
        program = [str(command), "federation"] if command else [sys.executable, "-m", "fedgrid.federation"]
        out = ["--out", str(self.folder / f"run-{site}")]
        call = [*program, "join", str(self.kit(site)), "--data", str(self.file(site)), *out, *more]
        return subprocess.Popen(
            call, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def alone(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        """The module of models, in this process."""
        monkeypatch.syspath_prepend(str(self.folder))
        monkeypatch.delitem(sys.modules, "models_here", raising=False)
        return __import__("models_here")

    def by_fit(self, model: Any) -> fg.Run:
        """The same experiment in one process."""
        method = fg.FedRelax(alpha=2.0, model=model, rounds=ROUNDS, tolerance=0.0, random_state=3)
        return method.fit(
            self.frame, "y", node="node", network=self.network, split="split", public=30, progress=False
        )


def free_port() -> int:
    """The first of some ports that are free for UDP."""
    for port in range(21_000 + os.getpid() % 2_000 * 5, 60_000, 7):
        with suppress(OSError):
            for place in range(4):
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                    probe.bind(("127.0.0.1", port + place))
            return port
    raise RuntimeError("no port is free")


def done(*processes: subprocess.Popen[str], seconds: float = 90.0) -> list[str]:
    """What processes have said by their good end; the others of one that ends badly would wait for ever."""
    deadline = time.time() + seconds
    while any(process.poll() is None for process in processes) and time.time() < deadline:
        for process in processes:
            assert process.poll() in (None, 0), process.communicate()[0]
        time.sleep(0.05)
    for process in processes:
        if process.poll() is None:
            process.kill()
    said = [process.communicate()[0] for process in processes]
    assert all(process.returncode == 0 for process in processes), said
    return said


def health(port: int) -> dict[str, Any] | None:
    with suppress(OSError, ValueError):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1.0) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
    return None


def there(port: int, round_: int) -> None:
    """Waits until an agent has come so far."""
    deadline = time.time() + 60
    while (health(port) or {"round": -1})["round"] < round_:
        assert time.time() < deadline, "an agent does not begin"
        time.sleep(0.02)


@pytest.fixture
def ended() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that end with the test, whatever becomes of it."""
    begun: list[subprocess.Popen[str]] = []
    yield begun
    for process in begun:
        if process.poll() is None:
            process.kill()
            process.communicate()


def by_command(command: Path, project: Project, site: str) -> Any:
    """What a run of the command predicts for the rows of its site."""
    said = subprocess.run(
        [str(command), "predict", str(project.folder / f"run-{site}"), "--data", str(project.file(site)), "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return np.array([row["prediction"] for row in json.loads(said.stdout)["predictions"]])


def one_process(project: Project, models: Any) -> fg.Run:
    # A model that sleeps has the bits of one that does not.
    linear = fg.Linear(ridge=0.01)
    return project.by_fit(
        {"n0": models.forest(), "n1": models.forest(), "n2": models.boosted(), "n3": models.boosted(), ...: linear}
    )


def test_three_sites_have_the_bits_of_one_process(
    command: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended: list[subprocess.Popen[str]]
) -> None:
    project = Project(tmp_path, SITES)
    if find_spec("xgboost") is None:
        print("xgboost is not installed: a perceptron of scikit-learn is in its place")
    ended += [
        project.begun("forest", "--model", "models_here:forest"),
        project.begun("boosted", "--model", "models_here:boosted"),
        project.begun("plain", command=command),
    ]
    said = done(*ended)
    assert "measured by" in said[0] and "Report:" in said[0]
    models = project.alone(monkeypatch)
    run = one_process(project, models)
    for site in ("forest", "boosted"):
        found = fg.federation.load(tmp_path / f"run-{site}")
        assert np.array_equal(found.predict(project.rows(site)), run.predict(project.rows(site))), site
        assert found.result["rounds"] == ROUNDS
    assert np.array_equal(by_command(command, project, "plain"), run.predict(project.rows("plain")))
    # All sites are at other models than those of training alone.
    alone = project.by_fit({"n0": models.forest(), ...: fg.Linear(ridge=0.01)})
    assert not np.array_equal(alone.predict(project.rows("boosted")), run.predict(project.rows("boosted")))


@POSIX
def test_a_site_that_is_killed_every_five_rounds_ends_with_the_same_bits(
    command: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended: list[subprocess.Popen[str]]
) -> None:
    project = Project(tmp_path, SITES)
    ended += [
        project.begun("boosted", "--model", "models_here:boosted", "--waive-floor", "n2,n3"),
        project.begun("plain", command=command),
    ]
    port, reached, kills, deadline = free_port() + 3, 0, 0, time.time() + 300
    while True:
        # Its floor was looked at when it came first, and would be again.
        slow = project.begun("forest", "--model", "models_here:slow", "--health", str(port), "--waive-floor", "n0,n1")
        ended.append(slow)
        while slow.poll() is None:
            found = health(port)
            # One that has ended badly would be waited for, for ever.
            for other in ended[:2]:
                assert other.poll() in (None, 0), other.communicate()[0]
            assert time.time() < deadline, f"{kills} kills, at round {reached}"
            if found is not None and reached + 5 <= found["round"] < ROUNDS - 1:
                slow.kill()
                slow.communicate()
                reached, kills = found["round"], kills + 1
                break
            time.sleep(0.01)
        else:
            break
    said, _ = slow.communicate()
    assert slow.returncode == 0, said
    assert kills >= 3, (kills, reached)
    done(*ended[:2])
    run = one_process(project, project.alone(monkeypatch))
    for site in ("forest", "boosted"):
        found = fg.federation.load(tmp_path / f"run-{site}")
        assert np.array_equal(found.predict(project.rows(site)), run.predict(project.rows(site))), (site, kills)
    assert np.array_equal(by_command(command, project, "plain"), run.predict(project.rows("plain")))


TWO = {"left": ["n0", "n1", "n2"], "right": ["n3", "n4", "n5"]}
ONE = {"all": [f"n{k}" for k in range(6)]}


def test_a_frame_gives_the_bits_of_its_file_and_a_run_that_predicts_and_is_pickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project(tmp_path, ONE)
    models = project.alone(monkeypatch)
    given = {"n1": models.forest(), "n4": models.at_level()}
    from_frame = fg.federation.join(project.kit("all"), project.frame, model=given, out=tmp_path / "a")
    assert "measured by" in capsys.readouterr().out
    from_file = fg.federation.join(
        project.kit("all"), project.file("all"), model=given, out=tmp_path / "b", progress=False
    )
    assert capsys.readouterr().out == ""
    assert from_frame is not None and from_file is not None
    expected = project.by_fit({**given, ...: fg.Linear(ridge=0.01)}).predict(project.frame)
    for run in (from_frame, from_file, pickle.loads(pickle.dumps(from_file)), fg.federation.load(tmp_path / "a")):
        assert np.array_equal(run.predict(project.frame), expected)
    assert type(from_frame.models_["n1"]).__name__ == "RandomForestRegressor"
    assert from_frame.models_["n0"]["kind"] == "linear"
    assert from_frame.verdict == from_frame.result["verdict"]
    assert any("python.pkl" in note for note in from_frame.notes_)
    assert "measured by" in (tmp_path / "a" / "report.html").read_text()
    with pytest.raises(ValueError, match="fg.federation.load, if you trust it"):
        fg.Run.load(tmp_path / "a")
    with pytest.raises(ValueError, match="--force"):
        fg.federation.join(project.kit("all"), project.frame, model=given, out=tmp_path / "a", progress=False)
    with pytest.raises(ValueError, match="had another model before, join with that one, or with another --out"):
        fg.federation.join(project.kit("all"), project.frame, out=tmp_path / "a", progress=False, force=True)
    again = fg.federation.join(
        project.kit("all"), project.frame, model=given, out=tmp_path / "a", progress=False, force=True
    )
    assert again is not None and np.array_equal(again.predict(project.frame), expected)


def test_classes_have_the_bits_of_one_process(tmp_path: Path) -> None:
    from sklearn.linear_model import LogisticRegression

    project = Project(
        tmp_path, ONE, "[model]\nkind = \"logistic\"\nridge = 0.01\n", made(6, 60, classes=True, seed=2)
    )
    model = {"n2": LogisticRegression(C=0.5), "n3": LogisticRegression(C=0.5)}
    run = fg.federation.join(project.kit("all"), project.frame, model=model, out=tmp_path / "run", progress=False)
    expected = project.by_fit({**model, ...: fg.Logistic(ridge=0.01)})
    assert run is not None
    assert np.array_equal(run.predict_proba(project.frame), expected.predict_proba(project.frame))
    assert list(run.predict(project.frame)) == list(expected.predict(project.frame))


def test_a_model_whose_predictions_would_be_labels_is_refused_unless_its_floor_is_waived(tmp_path: Path) -> None:
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.neighbors import KNeighborsRegressor

    project = Project(tmp_path, ONE)
    nearest = {"n2": KNeighborsRegressor(1)}
    join = {"out": tmp_path / "run", "progress": False}
    sentence = r"the KNeighborsRegressor of node 'n2' would tell a label: .* 100 % .* at most 20 %.*waive_floor=\[\"n2\"\]"
    with pytest.raises(ValueError, match=sentence):
        fg.federation.join(project.kit("all"), project.frame, model=nearest, **join)
    assert not (tmp_path / "run").exists(), "nothing has begun"
    deep = {"n2": RandomForestRegressor(10, random_state=0)}
    with pytest.raises(ValueError, match="would tell a label"):
        fg.federation.join(project.kit("all"), project.frame, model=deep, **join)
    restless = fg.Functions(lambda X, y, w: np.random.default_rng().normal(), lambda f, X: np.full(len(X), f))
    with pytest.raises(ValueError, match="two fits to the same rows differ"):
        fg.federation.join(project.kit("all"), project.frame, model={"n2": restless}, **join)
    with pytest.raises(ValueError, match="waived for 'n3', which is no node of this site with a model of its own"):
        fg.federation.join(project.kit("all"), project.frame, model=deep, waive_floor="n3", **join)
    run = fg.federation.join(project.kit("all"), project.frame, model=deep, waive_floor=["n2"], **join)
    assert run is not None
    assert any("The floor is waived for node 'n2'" in note for note in run.notes_)


def test_what_is_wrong_is_said_before_anything_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = Project(tmp_path, ONE, "[federation]\n")
    models = closed.alone(monkeypatch)
    join: dict[str, Any] = {"out": tmp_path / "run", "progress": False}
    with pytest.raises(ValueError, match=r"must write own_models = true in \[federation\]"):
        fg.federation.join(closed.kit("all"), closed.frame, model=models.forest(), **join)
    with pytest.raises(ValueError, match="model names node 'n9', which is not at this site"):
        fg.federation.join(closed.kit("all"), closed.frame, model={"n9": models.forest()}, **join)
    with pytest.raises(ValueError, match=r"a built-in one .* in \[model.nodes.n1\]"):
        fg.federation.join(closed.kit("all"), closed.frame, model={"n1": fg.Tree()}, **join)
    with pytest.raises(TypeError, match="expected a table, or the path of a file"):
        fg.federation.join(closed.kit("all"), 3, **join)
    with pytest.raises(ValueError, match="there is no column 'b'"):
        fg.federation.join(closed.kit("all"), closed.frame.drop(columns="b"), **join)
    with pytest.raises(ValueError, match="unexpected argument '--pagee'"):
        fg.federation.join(closed.kit("all"), closed.frame, pagee=3, **join)
    assert not (tmp_path / "run").exists()
    gtv = tmp_path / "gtv"
    gtv.mkdir()
    weights = Project(gtv, ONE, "[method]\nkind = \"gtv\"\nalpha = 1.0\nrounds = 3\n")
    with pytest.raises(ValueError, match="which couples weights, and the RandomForestRegressor model of node 'n0' has none"):
        fg.federation.join(weights.kit("all"), weights.frame, model={"n0": models.forest()}, **join)


def test_exit_codes_are_those_of_the_command(tmp_path: Path) -> None:
    project = Project(tmp_path, ONE)

    def run(*arguments: str) -> tuple[int, str]:
        call = [sys.executable, "-m", "fedgrid.federation", *arguments]
        found = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
        return found.returncode, found.stdout + found.stderr

    join = ["join", str(project.kit("all")), "--data", str(project.file("all")), "--out", str(tmp_path / "run")]
    assert run(*join, "--model", "models_nowhere:forest") == (
        2, "fedgrid: --model is 'models_nowhere:forest', and there is no module 'models_nowhere' here\n"
    )  # fmt: skip
    code, said = run(*join, "--model", "models_here:nothing", "--json")
    assert (code, json.loads(said)["error"]["exit_code"]) == (2, 2)
    code, said = run("join", str(tmp_path / "nowhere"), "--data", "rows.csv")
    assert code == 2 and said.startswith("fedgrid: ") and "nowhere" in said
    code, said = run("join", "--help")
    assert code == 0 and "--model <MODULE:NAME>" in said and "--waive-floor" in said
    (tmp_path / "models_here.py").write_text(
        "from sklearn.dummy import DummyRegressor\n"
        "class Broken(DummyRegressor):\n    def fit(self, X, y, sample_weight=None): raise ArithmeticError('no fit')\n"
    )
    code, said = run(*join, "--model", "models_here:Broken")
    assert code == 1 and "ArithmeticError: no fit" in said and "raised by the Broken of node 'n0'" in said
def test_a_folder_that_another_agent_has_is_for_later(tmp_path: Path, ended: list[subprocess.Popen[str]]) -> None:
    project = Project(tmp_path, TWO)
    port = free_port() + 3
    ended.append(project.begun("left", "--health", str(port)))
    there(port, 0)
    with pytest.raises(fg.federation.TryLater, match="in use by another process"):
        fg.federation.join(project.kit("left"), project.rows("left"), out=tmp_path / "run-left", progress=False)
    later = project.begun("left")
    ended.append(later)
    assert "in use by another process" in later.communicate(timeout=60)[0]
    assert later.returncode == 75


def test_what_a_site_cannot_keep_ends_with_the_exception_of_the_model(tmp_path: Path) -> None:
    project = Project(tmp_path, ONE)
    held = fg.Functions(lambda X, y, w: lambda: float(np.average(y, weights=w)), lambda f, X: np.full(len(X), f()))
    with pytest.raises((AttributeError, TypeError, pickle.PicklingError)) as raised:
        fg.federation.join(project.kit("all"), project.frame, model={"n1": held}, out=tmp_path / "run", progress=False)
    notes = " ".join(raised.value.__notes__)
    assert "something that can be pickled" in notes and "raised by the Functions of node 'n1'" in notes


@POSIX
def test_ctrl_c_and_a_stop_keep_the_state_and_the_same_call_goes_on(
    command: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended: list[subprocess.Popen[str]]
) -> None:
    project = Project(tmp_path, TWO)
    models = project.alone(monkeypatch)
    port, reached = free_port() + 3, 0
    arguments = ("--model", "models_here:slow", "--waive-floor", ",".join(TWO["left"]), "--health", str(port))
    right = project.begun("right", command=command)
    ended.append(right)
    for sign in (signal.SIGINT, signal.SIGTERM, None):
        left = project.begun("left", *arguments)
        ended.append(left)
        there(port, reached + 2)
        if sign is None:
            seen = {one["site"]: one["status"] for one in fg.federation.status(tmp_path / "home")}
            assert seen["left"]["nodes"] == 3 and seen["right"]["phase"] == "training"
            assert fg.federation.stop(tmp_path / "home") == {"told": 2, "sites": 2}
        else:
            reached = (health(port) or {"round": reached})["round"]
            left.send_signal(sign)
        assert "its state is kept" in left.communicate(timeout=30.0)[0]
        # A service that was interrupted is to go on, one that the project has told to stop is not.
        assert left.returncode == (0 if sign is None else 130)
        assert not (tmp_path / "run-left" / "result.json").exists()
    done(right)
    ended.append(project.begun("right", command=command))
    run = fg.federation.join(
        project.kit("left"), project.rows("left"), model=models.slow(), out=tmp_path / "run-left", progress=False,
        waive_floor=TWO["left"],
    )  # fmt: skip
    done(ended[-1])
    assert run is not None
    forests = {name: models.forest() for name in TWO["left"]}
    expected = project.by_fit({**forests, ...: fg.Linear(ridge=0.01)})
    assert np.array_equal(run.predict(project.rows("left")), expected.predict(project.rows("left")))


def test_the_other_commands_give_what_the_command_gives(tmp_path: Path) -> None:
    project = Project(tmp_path, ONE)
    assert project.made["sites"] == ["all"] and project.made["nodes"] == 6 and project.made["cut"] == 0
    found = fg.federation.check(project.kit("all"), project.file("all"))
    assert found["rows"] == 360 and found["problems"] == []
    told = fg.federation.describe(tmp_path / "experiment.toml", project.file("all"), out=tmp_path / "all.json")
    assert told == json.loads((tmp_path / "all.json").read_text())
    with pytest.raises(ValueError, match="none of 1 sites was reached"):
        fg.federation.stop(tmp_path / "home")
    project.frame.drop(columns="b").to_csv(tmp_path / "less.csv", index=False)
    with pytest.raises(ValueError, match="1 problem to be solved"):
        fg.federation.check(project.kit("all"), tmp_path / "less.csv")


@pytest.mark.parametrize("library", ["sklearn", "xgboost", "torch", "keras", "functions"])
def test_what_was_learnt_comes_back_from_its_bytes(library: str) -> None:
    if library != "functions":
        pytest.importorskip(library, reason=f"{library} is not installed")
    spec: Any
    if library == "sklearn":
        from sklearn.ensemble import RandomForestRegressor

        spec = fg.Estimator(RandomForestRegressor(5, random_state=1))
    elif library == "xgboost":
        from xgboost import XGBRegressor

        spec = fg.Estimator(XGBRegressor(n_estimators=5, n_jobs=1))
    elif library == "torch":
        import torch

        spec = fg.TorchModel(torch.nn.Linear(3, 1), epochs=3)
    elif library == "keras":
        import keras

        spec = fg.KerasModel(lambda: keras.Sequential([keras.layers.Dense(1)]), epochs=2)
    else:
        spec = fg.Functions(lambda X, y, w: float(y @ w), lambda f, X: np.full(len(X), f))
    adapter = spec.adapter("n", None, 3)
    draws = np.random.default_rng(0)
    X, y = draws.normal(size=(40, 3)), draws.normal(size=40)
    learnt = adapter.fit(X, y, np.ones(40), None)
    again = adapter.load(adapter.dump(learnt))
    assert np.array_equal(adapter.predict(learnt, X), adapter.predict(again, X))
    # It goes on from there as from what was never away, for models with a warm state, too.
    further = [adapter.predict(adapter.fit(X, y, np.ones(40), one), X) for one in (learnt, again)]
    assert np.array_equal(*further)
