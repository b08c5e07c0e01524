"""Draws energy.csv and edges.csv: what 20 buildings of four streets use per day, over 18 weeks.

    python3 make.py
"""

import csv
import datetime
import math
import random

draw = random.Random(4)


def write(name, rows):
    with open(name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


rows = [["building", "day", "outside", "energy"]]
edges = [["src", "dst", "weight"]]
start = datetime.date(2025, 1, 6)
DAYS = 126
weather = [4 + 8 * math.sin(day / DAYS * math.pi) for day in range(DAYS)]
for day in range(1, DAYS):
    weather[day] += 0.7 * (weather[day - 1] - 4 - 8 * math.sin((day - 1) / DAYS * math.pi)) + draw.gauss(0, 1.5)
for street in range(4):
    per_degree, week = draw.gauss(-1.2, 0.5), draw.gauss(5, 3)
    names = [f"{'ABCD'[street]}-{k + 1}" for k in range(5)]
    edges += [[a, b, 1] for a, b in zip(names, names[1:])]
    for name in names:
        base, own = draw.gauss(50, 8), draw.gauss(per_degree, 0.1)
        rest = 0.0
        for day in range(DAYS):
            date = start + datetime.timedelta(days=day)
            rest = 0.6 * rest + draw.gauss(0, 2)
            used = base + own * weather[day] - week * (date.weekday() >= 5) + rest
            rows.append([name, date, f"{weather[day]:.1f}", f"{used:.1f}"])
write("energy.csv", rows)
write("edges.csv", edges)
