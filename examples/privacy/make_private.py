"""Fifty clinics on a ring, each with 200 training rows of three features; neighbours are alike."""
import math, random
rng = random.Random(5)
with open("made.csv", "w") as out:
    out.write("clinic,part,days,age,dose,stage\n")
    for clinic in range(50):
        turn = 2 * math.pi * clinic / 50
        own = [10 + 3 * math.sin(turn) + rng.gauss(0, 0.5), 2 + math.cos(turn) + rng.gauss(0, 0.3), -2 + rng.gauss(0, 0.3), 1]
        for row in range(400):
            part = "train" if row < 200 else "val" if row < 250 else "test"
            x = [rng.uniform(-1, 1) for _ in range(3)]
            days = own[0] + sum(a * b for a, b in zip(own[1:], x)) + rng.gauss(0, 3)
            out.write(f"{clinic:02},{part},{days:.3f}," + ",".join(f"{v:.4f}" for v in x) + "\n")
