"""Draws pupils.csv: exam scores of pupils in 40 schools, whose level and whose slope differ from school to school.

    python3 make.py
"""

import csv
import random

draw = random.Random(1)
rows = [["school", "pupil", "prior", "hours", "split", "score"]]
for school in range(40):
    level, slope = draw.gauss(50, 6), draw.gauss(7, 2.5)
    # From a village school to a large one.
    for pupil in range(draw.choice([8, 10, 14, 20, 40])):
        prior, hours = draw.gauss(0, 1), draw.uniform(0, 10)
        score = level + slope * prior + 0.8 * hours + draw.gauss(0, 6)
        split = ["train", "train", "val", "test"][pupil % 4]
        rows.append([f"school-{school + 1:02}", pupil + 1, f"{prior:.2f}", f"{hours:.1f}", split, f"{score:.1f}"])
with open("pupils.csv", "w", newline="", encoding="utf-8") as file:
    csv.writer(file, lineterminator="\n").writerows(rows)
