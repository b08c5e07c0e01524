"""10⁵ nodes × 10 rows, from one pandas frame to fitted linear models: seconds, and memory in frames.

Run by `make bench`; the goals are 10 s and 3 frames. A frame is what pandas says it takes,
`memory_usage(deep=True)`. Memory is the resident set of the process (Linux): its peak during `fit`
over what it was just before, when the frame and the network were there. The second number also counts
the frame itself: the same peak over what the process had after its imports.
"""

from __future__ import annotations

import ctypes
import gc
import time
from pathlib import Path

import numpy as np
import pandas as pd

import fedgrid as fg

NODES, ROWS, FEATURES = 100_000, 10, 10


def resident(field: str) -> float:
    """`VmRSS`, the memory of this process now, or `VmHWM`, its peak, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024.0 * next(float(line.split()[1]) for line in lines if line.startswith(field))


def settled() -> float:
    """The memory now, after everything that is free went back and the peak was forgotten."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return resident("VmRSS")


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
    imported = settled()
    data = frame()
    size = float(data.memory_usage(deep=True).sum())
    network = fg.Network.shape("ring", NODES)
    before = settled()
    begun, cpu = time.perf_counter(), time.process_time()
    method = fg.FedRelax(alpha=1.0, model=fg.Linear(ridge=1e-3))
    run = method.fit(data, "y", node="node", network=network, progress=False)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    peak, after = resident("VmHWM"), settled()
    error = float(np.mean((run.predict(data) - data["y"]) ** 2))
    print(
        f"{NODES} nodes x {ROWS} rows x {FEATURES} features: {seconds:.2f} s (goal 10; "
        f"{cpu:.2f} s of processor time), at the peak {(peak - before) / size:.2f} frames of "
        f"{size / 1e6:.0f} MB more than before (goal 3), {(peak - imported) / size:.2f} more than after "
        f"the imports; {(after - before) / size:.2f} are kept; "
        f"mse {error:.3g}, {run.certificate_['kind']} {run.certificate_['value']:.1e}"
    )


if __name__ == "__main__":
    main()
