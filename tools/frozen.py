#!/usr/bin/env python3
"""Freezes what fedgrid gives, and compares it bit for bit: for changes that must change nothing but the form.

    tools/frozen.py make    --out frozen            # before the change, with the old binary
    tools/frozen.py compare --with frozen           # after it, with the new one
    tools/frozen.py near    --with frozen           # after a faster search: verdicts, strengths, and errors to 1 %

What is frozen, one JSON file each, without seconds and without prose about how it was found:

- `result.json` and the models of the demo; of the bundled and, where FEDGRID_DATA (default ../shared/data)
  has them, of all datasets with FedRelax and GTV; of the stations with every other method;
- the values of `fedgrid reproduce --all --quick`;
- the results of the Python wheel, where .venv has it.

The golden frames of federations are tests (crates/fedgrid-zenoh/src/frame). Needs Python 3.11 and nothing else.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

#: Keys that differ from run to run, or are words of a version.
PASSING = {"seconds", "version"}

BASELINES = ["fedavg", "fedprox", "ditto", "apfl", "ifca", "clustered", "fine-tuned", "gossip", "fedmd"]
PLAIN = ["local", "pooled", "shrunk"]


def numbered(count: int) -> str:
    return "features = [" + ", ".join(f'"c{k:02}"' for k in range(1, count + 1)) + "]\n"


#: The keys of each dataset's experiment after `[data]`, in order of cost.
DATASETS = {
    "fmi_hourly": numbered(12),
    "sacramento_housing": 'features = ["beds", "baths", "sqft"]\n',
    "fmi_daily": 'features = ["tmin_1", "tmax_1", "tmin_2", "tmax_2", "tmin_3", "tmax_3"]\n',
    "school": "",
    "heart_disease": "",
    "covid_counties": numbered(16),
}
MORE = {"heart_disease": '[model]\nkind = "logistic"\n[public]\npoints = 50\n'}


class Tree:
    """A build of fedgrid, and what it gives."""

    def __init__(self, fedgrid: str, data: Path, work: Path, shuffles: int) -> None:
        self.fedgrid, self.data, self.work, self.shuffles = fedgrid, data, work, shuffles

    def run(self, *arguments: str) -> None:
        done = subprocess.run([self.fedgrid, *arguments, "--quiet"], cwd=self.work, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"fedgrid {' '.join(arguments)}: {done.stderr.strip()}")

    def fit(self, out: str, *arguments: str) -> Any:
        self.run(*arguments, "--out", out, "--force")
        models = (self.work / out / "models" / "nodes.jsonl").read_text(encoding="utf-8")
        result = json.loads((self.work / out / "result.json").read_text(encoding="utf-8"))
        return {"result": lasting(result), "models": digest(models)}

    def demo(self) -> Any:
        return self.fit("demo", "demo")

    def stations(self, *arguments: str) -> Any:
        return self.fit("stations", "fit", str(ROOT / "examples/colorado/colorado.toml"), *arguments)

    def dataset(self, name: str, method: str) -> Any:
        folder = self.data / name
        path = {file: json.dumps(str(folder / file)) for file in ("nodes.csv", "edges.csv", "data.parquet")}
        text = (
            f"[network]\nfile = {path['nodes.csv']}\nedges = {path['edges.csv']}\n"
            f"[data]\nfile = {path['data.parquet']}\n"
            f'node = "node"\ntarget = "y"\nsplit = "split"\n{DATASETS[name]}{MORE.get(name, "")}'
            f'[method]\nkind = "{method}"\n[compare]\nshuffles = {self.shuffles}\n'
        )
        (self.work / "experiment.toml").write_text(text, encoding="utf-8")
        return self.fit("dataset", "fit", "experiment.toml")

    def figures(self) -> Any:
        self.run("reproduce", "--all", "--quick", "--out", "figures", "--force")
        files = sorted((self.work / "figures").rglob("*.csv"))
        return {str(file.relative_to(self.work)): file.read_text(encoding="utf-8") for file in files}

    def python(self) -> Any:
        python = ROOT / ".venv" / "bin" / "python"
        done = subprocess.run([python, "-c", PYTHON, str(ROOT)], cwd=self.work, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"Python: {done.stderr.strip()}")
        return lasting(json.loads(done.stdout))

    def all(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Every part by name, the quick ones first."""
        yield "demo", self.demo
        for method in ["gtv", "persfl", *BASELINES, *PLAIN]:
            rounds = [] if method in ("local", "pooled") else ["--set", "method.rounds=50"]
            keys = ["--method", method, *rounds]
            yield f"stations-{method}", lambda keys=keys: self.stations(*keys)
        yield "stations-all", lambda: self.stations("--baselines", "all", "--set", "compare.shuffles=1")
        for name in DATASETS:
            for method in ("fedrelax", "gtv"):
                if (self.data / name).is_dir():
                    yield f"{name}-{method}", lambda name=name, method=method: self.dataset(name, method)
                else:
                    print(f"skipped: {name} is not in {self.data}")
        yield "figures", self.figures
        if (ROOT / ".venv" / "bin" / "python").exists():
            yield "python", self.python
        else:
            print("skipped: there is no wheel in .venv (make python)")


#: What the wheel gives on the bundled stations, and with a model of Python's own.
PYTHON = """
import json, sys
import numpy as np, pandas as pd, fedgrid as fg
root = sys.argv[1] + "/examples/colorado/"
rows, nodes = pd.read_csv(root + "readings.csv"), pd.read_csv(root + "stations.csv")
network = fg.Network.nearest(nodes, {"lon": 85, "lat": 111, "elevation_m": 0.25}, node="station", neighbours=8)
features = ["sin1", "cos1", "sin2", "cos2"]
class Mean:
    def fit(self, X, y, sample_weight=None):
        self.mean = float(np.average(y, weights=sample_weight))
        return self
    def predict(self, X):
        return np.full(len(X), self.mean)
given = {}
for name, method in {
    "fedrelax": fg.FedRelax(shuffles=1), "gtv": fg.GTV(shuffles=1), "ditto": fg.Ditto(rounds=20),
    "mixed": fg.FedRelax(0.1, {network.nodes[0]: Mean(), ...: fg.Tree()}, rounds=5, shuffles=0),
}.items():
    run = method.fit(rows, "tmax", node="station", network=network, features=features, split="split")
    given[name] = {"alpha": run.alpha_, "ridge": run.ridge_, "predictions": run.predict(rows).tolist()}
    if name != "mixed":
        given[name]["result"] = run.result
print(json.dumps(given))
"""


def lasting(value: Any) -> Any:
    """A value without what differs from run to run."""
    if isinstance(value, dict):
        return {key: lasting(inner) for key, inner in value.items() if key not in PASSING}
    return [lasting(inner) for inner in value] if isinstance(value, list) else value


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def differences(old: Any, new: Any, at: str = "") -> Iterator[str]:
    """Where two values differ, by the path to each place."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            if key not in old or key not in new:
                yield f"{at}.{key}: only in the {'new' if key in new else 'old'} one"
            else:
                yield from differences(old[key], new[key], f"{at}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (a, b) in enumerate(zip(old, new)):
            yield from differences(a, b, f"{at}[{place}]")
    elif old != new:
        yield f"{at}: {str(old)[:80]} became {str(new)[:80]}"


#: Errors of another search may be worse by so much; better ones are told.
WORSE_SHARE = 0.01
#: Rows of results with an error of their own, and the chosen strengths that a row may have.
ROWS, STRENGTHS = ["local", "pooled", "shrunk", "mixed", "network", "shuffled"], ["alpha", "ridge"]


def apart(old: Any, new: Any) -> Iterator[str]:
    """Where another search comes to another answer, each in a line; what is wrong begins with "wrong"."""
    old, new = old["result"], new["result"]
    if old["verdict_kind"] != new["verdict_kind"]:
        yield f"wrong: verdict {old['verdict_kind']} became {new['verdict_kind']}"
    for row in ROWS:
        before, after = old["comparison"].get(row), new["comparison"].get(row)
        if before is None or after is None:
            yield f"{row}: only in the {'old' if after is None else 'new'} one"
            continue
        for role in ("validation", "test"):
            if before.get(role) and after.get(role) is not None:
                share = after[role] / before[role] - 1
                if abs(share) > 1e-6:
                    wrong = "wrong: " if share > WORSE_SHARE else ""
                    yield f"{wrong}{row}: {role} {before[role]:.6g} became {after[role]:.6g} ({share:+.2%})"
        for key in STRENGTHS:
            a, b = before.get(key), after.get(key)
            if a != b and not (a and b and abs(a / b - 1) < 1e-9):
                yield f"{row}: {key} {a} became {b}"


def main() -> int:
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    data = os.environ.get("FEDGRID_DATA", str(ROOT.parent / "shared" / "data"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "compare", "near"])
    parser.add_argument("--out", type=Path, default=target / "frozen", help="where make writes")
    parser.add_argument("--with", dest="old", type=Path, default=target / "frozen", help="what to compare with")
    parser.add_argument("--fedgrid", default=str(target / "release" / "fedgrid"), help="the command")
    parser.add_argument("--only", default="", help="parts whose name holds this")
    parser.add_argument("--shuffles", type=int, default=1, help="how many shuffles the comparisons of datasets have")
    chosen = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as work:
        tree = Tree(str(Path(chosen.fedgrid).resolve()), Path(data).resolve(), Path(work), chosen.shuffles)
        for name, part in tree.all():
            if chosen.only not in name:
                continue
            new = part()
            if chosen.what == "make":
                chosen.out.mkdir(parents=True, exist_ok=True)
                (chosen.out / f"{name}.json").write_text(json.dumps(new), encoding="utf-8")
                print(f"{name}: frozen")
                continue
            path = chosen.old / f"{name}.json"
            if not path.exists():
                print(f"{name}: was not frozen")
                wrong += 1
                continue
            old = json.loads(path.read_text(encoding="utf-8"))
            if chosen.what == "near":
                # Values of figures and of the wheel have no verdict of their own.
                found = list(apart(old, new)) if "result" in new else []
                wrong += any(line.startswith("wrong") for line in found)
                print(f"{name}: {'the same' if not found else 'other answers'}")
            else:
                found = list(differences(old, new))
                wrong += bool(found)
                print(f"{name}: {'the same' if not found else f'{len(found)} places differ'}")
                found = found[:8]
            for line in found:
                print(f"    {line}")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
