"""10⁵ nodes × 10 rows, from one pandas frame to fitted linear models: seconds, and memory over the
size of the frame. Run by `make bench`; the goals are 10 s and 3 frames."""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
import pandas as pd

import fedgrid as fg

NODES, ROWS, FEATURES = 100_000, 10, 10


def peak() -> float:
    """The largest memory this process has had, in bytes."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used * (1.0 if sys.platform == "darwin" else 1024.0)


def frame() -> pd.DataFrame:
    """Rows of nodes on a ring whose weights change slowly along it."""
    draws = np.random.default_rng(1)
    node = np.repeat(np.arange(NODES), ROWS)
    X = draws.normal(size=(NODES * ROWS, FEATURES))
    angle = 2.0 * np.pi * node / NODES
    y = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) + 0.1 * draws.normal(size=len(X))
    columns = {f"x{k}": X[:, k] for k in range(FEATURES)}
    return pd.DataFrame({"node": node, **columns, "y": y})


def main() -> None:
    data = frame()
    size = float(data.memory_usage(deep=True).sum())
    network = fg.Network.shape("ring", NODES)
    before = peak()
    begun, cpu = time.perf_counter(), time.process_time()
    method = fg.FedRelax(alpha=1.0, model=fg.Linear(ridge=1e-3))
    run = method.fit(data, "y", node="node", network=network, progress=False)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    added = peak() - before
    error = float(np.mean((run.predict(data) - data["y"]) ** 2))
    print(
        f"{NODES} nodes x {ROWS} rows x {FEATURES} features: {seconds:.2f} s (goal 10; "
        f"{cpu:.2f} s of processor time), "
        f"{added / size:.2f} frames of {size / 1e6:.0f} MB more at the peak (goal 3), "
        f"mse {error:.3g}, {run.certificate_['kind']} {run.certificate_['value']:.1e}"
    )


if __name__ == "__main__":
    main()
