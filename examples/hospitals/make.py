"""Draws patients.csv and edges.csv: who falls ill in 24 hospitals of four regions. No real patient is in it.

    python3 make.py
"""

import csv
import math
import random

draw = random.Random(2)
REGIONS, HOSPITALS, PATIENTS = 4, 6, 90


def write(name, rows):
    with open(name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


rows = [["hospital", "age", "pressure", "smoker", "ward", "split", "ill"]]
edges = [["src", "dst", "weight"]]
for region in range(REGIONS):
    # What makes people ill differs between regions, and a little between the hospitals of one.
    common = [draw.gauss(0, 1.2) for _ in range(4)]
    names = [f"{'NESW'[region]}{k + 1}" for k in range(HOSPITALS)]
    edges += [[a, b, 1] for k, a in enumerate(names) for b in names[k + 1 :]]
    for name in names:
        level, age_, pressure_, smoker_ = (c + draw.gauss(0, 0.2) for c in common)
        for patient in range(PATIENTS):
            age, pressure = round(draw.uniform(30, 85)), round(draw.gauss(135, 15))
            smoker, ward = draw.random() < 0.35, draw.choice(["heart", "lung", "general"])
            odds = level + age_ * (age - 57) / 16 + pressure_ * (pressure - 135) / 15 + smoker_ * smoker
            odds += {"heart": 0.6, "lung": 0.2, "general": -0.5}[ward]
            ill = draw.random() < 1 / (1 + math.exp(-odds))
            split = "train" if patient < 12 else "val" if patient < 24 else "test"
            rows.append([name, age, pressure, "yes" if smoker else "no", ward, split, "ill" if ill else "well"])
# Two hospitals on each border know each other.
edges += [["N1", "E1", 0.2], ["E2", "S1", 0.2], ["S2", "W1", 0.2], ["W2", "N2", 0.2]]
write("patients.csv", rows)
write("edges.csv", edges)
