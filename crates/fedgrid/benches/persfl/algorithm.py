"""Algorithm 1 of PersFL in vectorised numpy, with given draws of candidates.

Prints, as JSON, the best seconds of two versions (one gathers the rows of the drawn candidates, one
computes the gradients of all nodes) and the final weights.
"""

import json
import sys
import time

import numpy as np

folder, nodes, rows, columns, drawn, rounds, step = sys.argv[1], *map(float, sys.argv[2:])
nodes, rows, columns, drawn, rounds = map(int, (nodes, rows, columns, drawn, rounds))


def array(name, *shape):
    return np.fromfile(f"{folder}/{name}").reshape(shape)


X, y = array("x", nodes, rows, columns), array("y", nodes, rows)
draws = array("s", rounds, drawn).astype(int)
target, labels = X[0], y[0]


def gathered():
    w = np.zeros(columns)
    for chosen in draws:
        part = X[chosen]
        residual = part @ w - y[chosen]
        gradient = np.matmul(residual[:, None, :], part)[:, 0, :]
        moved = w - (2 * step / rows) * gradient
        errors = moved @ target.T - labels
        w = moved[np.einsum("kr,kr->k", errors, errors).argmin()]
    return w


flat, everything = X.reshape(-1, columns), y.reshape(-1)


def whole():
    w = np.zeros(columns)
    for chosen in draws:
        residual = (flat @ w - everything).reshape(nodes, 1, rows)
        gradient = np.matmul(residual, X)[chosen, 0, :]
        moved = w - (2 * step / rows) * gradient
        errors = moved @ target.T - labels
        w = moved[np.einsum("kr,kr->k", errors, errors).argmin()]
    return w


def best(work):
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        answer = work()
        times.append(time.perf_counter() - begun)
    return min(times), answer


(a, w), (b, _) = best(gathered), best(whole)
print(json.dumps({"gathered": a, "whole": b, "weights": w.tolist()}))
