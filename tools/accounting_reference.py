#!/usr/bin/env python3
"""Reference numbers for privacy accounting: what Google's dp-accounting makes of compositions of Gaussian releases.

    python -m venv reference && reference/bin/pip install dp-accounting
    reference/bin/python tools/accounting_reference.py    # writes crates/fedgrid/src/privacy/reference.json

Sums of Gaussian losses are Gaussian: its exact profile of one release is that of the composition. That this is so is held
here against its numerical compositions, from above and from below.
"""

from __future__ import annotations

import json
import math
from importlib.metadata import version
from pathlib import Path

from dp_accounting.pld import common, privacy_loss_distribution, privacy_loss_mechanism

PLACE = Path(__file__).parent.parent / "crates/fedgrid/src/privacy/reference.json"
CASES = [
    ([1.0], 1e-5), ([0.5], 1e-5), ([2.0], 1e-5), ([4.0], 1e-6), ([10.0], 1e-5), ([0.25], 1e-5), ([30.0], 1e-3),
    ([1.0, 1.0], 1e-5), ([1.0, 2.0], 1e-5), ([3.0] * 10, 1e-5), ([5.0, 7.0, 9.0], 1e-6), ([0.7, 1.3], 1e-4),
    ([20.0] * 100, 1e-5), ([1.5, 2.5, 3.5, 4.5], 1e-5), ([8.0] * 5 + [4.0] * 3, 1e-7), ([50.0, 0.9], 1e-5),
    ([2.0] * 4, 1e-9), ([6.0, 6.0, 1.0], 1e-2), ([12.0] * 30, 1e-5), ([0.4, 0.6], 1e-5),
]  # fmt: skip


def epsilon(deviation: float, delta: float) -> float:
    """By halving, from the exact profile of one Gaussian release."""
    loss = privacy_loss_mechanism.GaussianPrivacyLoss(deviation)
    least, most = 0.0, 1.0
    while loss.get_delta_for_epsilon(most) > delta:
        most *= 2
    for _ in range(100):
        middle = (least + most) / 2
        if loss.get_delta_for_epsilon(middle) > delta:
            least = middle
        else:
            most = middle
    return least


def bounds(deviations: list[float], delta: float) -> tuple[float, float]:
    """The same composed numerically, from below and from above."""
    found = []
    for pessimistic in (False, True):
        made = None
        for deviation in deviations:
            own = privacy_loss_distribution.from_gaussian_mechanism(
                deviation, value_discretization_interval=1e-4, pessimistic_estimate=pessimistic,
                use_connect_dots=pessimistic,
            )  # fmt: skip
            made = own if made is None else made.compose(own)
        found.append(made.get_epsilon_for_delta(delta))
    return found[0], found[1]


def main() -> None:
    made = []
    for deviations, delta in CASES:
        combined = 1 / math.sqrt(sum(deviation**-2 for deviation in deviations))
        found = epsilon(combined, delta)
        below, above = bounds(deviations, delta)
        slack = 2e-4 * len(deviations)
        assert below - slack <= found <= above + slack, (deviations, below, found, above)
        print(f"{len(deviations):4} releases: {below:.6f} ≤ {found:.6f} ≤ {above:.6f}")
        made.append({"deviations": deviations, "delta": delta, "epsilon": found})
    about = {"made_with": f"dp-accounting {version('dp-accounting')}", "compositions": made}
    PLACE.write_text(json.dumps(about) + "\n")


if __name__ == "__main__":
    main()
