#!/usr/bin/env python3
"""Reference numbers for counts over exposures: what statsmodels gives for rows of ours.

    python -m venv reference && reference/bin/pip install statsmodels
    reference/bin/python tools/exposure_reference.py    # writes crates/fedgrid/tests/laws/weights/reference.json

Its fits take exposures as offsets of the linear predictor, and repeated rows as frequency weights.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import statsmodels
import statsmodels.api as sm

PLACE = Path(__file__).parent.parent / "crates/fedgrid/tests/laws/weights/reference.json"


def uniforms(seed: int):
    """Park and Miller's generator, which any computer draws alike."""
    state = seed
    while True:
        state = 16807 * state % 2147483647
        yield state / 2147483647


def rows(seed: int, count: int) -> dict[str, list]:
    draw = uniforms(seed)
    normal = lambda: sum(next(draw) for _ in range(12)) - 6.0
    made: dict[str, list] = {"features": [], "exposure": [], "weight": [], "labels": []}
    for _ in range(count):
        x = [round(normal(), 3), round(2.0 + normal(), 3)]
        exposure = round(0.1 + 30.0 * next(draw), 2)
        mean = exposure * math.exp(-1.0 + 0.4 * x[0] - 0.2 * x[1])
        # A count by the inverse of its distribution.
        label, chance, reached = 0, math.exp(-mean), next(draw)
        total = chance
        while total < reached and label < 1000:
            label += 1
            chance *= mean / label
            total += chance
        made["features"].append(x)
        made["exposure"].append(exposure)
        made["weight"].append(1 + int(3 * next(draw)))
        made["labels"].append(label)
    return made


def fitted(made: dict[str, list], weighted: bool) -> dict[str, object]:
    design = sm.add_constant(np.asarray(made["features"]), prepend=False)
    weights = np.asarray(made["weight"], dtype=float) if weighted else None
    model = sm.GLM(
        np.asarray(made["labels"], dtype=float), design, family=sm.families.Poisson(),
        exposure=np.asarray(made["exposure"]), freq_weights=weights,
    )  # fmt: skip
    found = model.fit(tol=1e-15, maxiter=200, tol_criterion="params")
    means = found.predict(design, exposure=np.asarray(made["exposure"]))
    return {
        "weighted": weighted,
        "coefficients": found.params.tolist(),
        "means": np.asarray(means).tolist(),
    }


def main() -> None:
    sets = [rows(seed, count) for seed, count in ((3, 40), (11, 90))]
    for made in sets:
        made["fits"] = [fitted(made, weighted) for weighted in (False, True)]
    PLACE.write_text(json.dumps({"made_by": f"statsmodels {statsmodels.__version__}", "sets": sets}) + "\n")


main()
