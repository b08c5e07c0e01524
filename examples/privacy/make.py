"""Draws few.csv and many.csv: ten clinics with 6 and with 60 patients each.

    python3 make.py
"""

import csv
import random

for name, patients in [("few.csv", 12), ("many.csv", 120)]:
    draw = random.Random(6)
    rows = [["clinic", "age", "dose", "weight_kg", "days"]]
    for clinic in range(10):
        slope = draw.gauss(2, 0.5)
        for _ in range(patients):
            age, dose, weight = draw.gauss(0, 1), draw.gauss(0, 1), draw.gauss(0, 1)
            days = 10 + slope * dose - age + 0.5 * weight + draw.gauss(0, 1.5)
            rows.append([f"clinic-{clinic + 1}", f"{age:.3f}", f"{dose:.3f}", f"{weight:.3f}", f"{days:.2f}"])
    with open(name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
