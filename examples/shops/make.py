"""Draws sales.csv and edges.csv: how many pieces 30 shops of five towns sell, with promotions, prices and opening hours.

    python3 make.py
"""

import csv
import datetime
import math
import random

draw = random.Random(3)


def poisson(mean):
    """Knuth's: counts how many uniform numbers it takes to fall below exp(-mean)."""
    count, product = 0, draw.random()
    while product > math.exp(-mean):
        count, product = count + 1, product * draw.random()
    return count


def write(name, rows):
    with open(name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


rows = [["shop", "date", "price", "promotion", "holiday", "hours", "sales"]]
edges = [["src", "dst", "weight"]]
start = datetime.date(2025, 3, 3)
for town in range(5):
    of_price = draw.gauss(-0.5, 0.25)
    promotions = {"none": 0.0, "flyer": draw.gauss(0.3, 0.15), "tv": draw.gauss(0.5, 0.3)}
    names = [f"{town + 1}{letter}" for letter in "abcdef"]
    edges += [[a, b, 1] for k, a in enumerate(names) for b in names[k + 1 :]]
    for name in names:
        level = draw.gauss(0.6, 0.3)
        for day in range(40):
            date = start + datetime.timedelta(days=day)
            price, hours = round(draw.uniform(1.5, 4.5), 2), draw.choice([6, 8, 8, 10])
            promotion = draw.choice(["none", "none", "none", "flyer", "flyer", "tv"])
            holiday = draw.random() < 0.1
            weekend = date.weekday() >= 5
            log_rate = level + of_price * (price - 3) + promotions[promotion] + 0.35 * weekend - 0.4 * holiday
            sold = poisson(hours / 8 * math.exp(log_rate))
            rows.append([name, date, price, promotion, "true" if holiday else "false", hours, sold])
write("sales.csv", rows)
write("edges.csv", edges)
