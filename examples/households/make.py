"""Draws readings.csv and truth.csv: by how much 30 households pay more for energy than on the same day of the year before, and what has
changed since, in deviations. They are of three kinds, which nobody has written down; truth.csv, which no experiment reads, has them, so that what was learnt can be judged.

    python3 make.py
"""

import csv
import random

draw = random.Random(5)
FEATURES = ["outside", "wind", "sun", "people", "hours_at_home", "baths", "washes", "weekend"]


def write(name, rows):
    with open(name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


# Heated by gas, by a heat pump, by wood: other things matter.
kinds = {kind: [draw.gauss(0, 2) for _ in FEATURES] for kind in ["gas", "pump", "wood"]}
rows = [["household", *FEATURES, "split", "change"]]
truth = [["household", "kind"]]
for household in range(30):
    name, kind = f"h{household + 1:02}", list(kinds)[household % 3]
    truth.append([name, kind])
    for row in range(36):
        x = [draw.gauss(0, 1) for _ in FEATURES]
        change = sum(a * b for a, b in zip(kinds[kind], x)) + draw.gauss(0, 1)
        split = "train" if row < 8 else "val" if row < 14 else "test"
        rows.append([name, *(f"{v:.2f}" for v in x), split, f"{change:.2f}"])
write("readings.csv", rows)
write("truth.csv", truth)
