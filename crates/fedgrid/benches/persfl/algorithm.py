"""Algorithm 1 of PersFL in vectorised numpy.

Prints, as JSON, the best seconds of two versions that draw their candidates (one gathers the rows of
the drawn ones, one computes the gradients of all nodes), and the final weights with given draws.
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


def gathered(draws):
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


def whole(draws):
    w = np.zeros(columns)
    for chosen in draws:
        residual = (flat @ w - everything).reshape(nodes, 1, rows)
        gradient = np.matmul(residual, X)[chosen, 0, :]
        moved = w - (2 * step / rows) * gradient
        errors = moved @ target.T - labels
        w = moved[np.einsum("kr,kr->k", errors, errors).argmin()]
    return w


def drawing():
    generator = np.random.default_rng(1)
    for _ in range(rounds):
        yield 1 + generator.choice(nodes - 1, drawn, replace=False, shuffle=False)


def best(work):
    times = []
    for _ in range(20):
        begun = time.perf_counter()
        work(drawing())
        times.append(time.perf_counter() - begun)
    return min(times)


answer = {"gathered": best(gathered), "whole": best(whole), "weights": gathered(draws).tolist()}
print(json.dumps(answer))
