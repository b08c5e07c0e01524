"""Draws the tables of three sites, ann.csv, ben.csv and cleo.csv, with four rooms each, and who is next to whom.

    python3 make.py
"""

import csv
import math
import random

draw = random.Random(7)
SITES = ["ann", "ben", "cleo"]


def write(name, rows):
    with open(name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


rooms = [f"{site}-{k + 1}" for site in SITES for k in range(4)]
# Rooms stand in a row, so that the last of one site is the neighbour of the first of the next.
write("edges.csv", [["src", "dst", "weight"], *([a, b, 1] for a, b in zip(rooms, rooms[1:]))])
for site in range(3):
    rows = [["room", "outside", "sun", "people", "split", "temperature"]]
    for k in range(4):
        place = 4 * site + k
        for row in range(40):
            outside, sun, people = draw.gauss(10, 6), draw.uniform(0, 1), draw.randrange(5)
            slope = 0.3 + 0.2 * math.sin(place / 3)
            temperature = 19 + slope * (outside - 10) + 3 * sun * math.cos(place / 4) + 0.4 * people + draw.gauss(0, 1)
            split = "train" if row < 12 else "val" if row < 20 else "test"
            rows.append([rooms[place], f"{outside:.1f}", f"{sun:.2f}", people, split, f"{temperature:.1f}"])
    write(f"{SITES[site]}.csv", rows)
