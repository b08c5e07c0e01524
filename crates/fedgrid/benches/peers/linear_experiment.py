"""The linear experiment of "Plug In and Learn" in numpy: RMSprop rounds on 150 nodes.

Reads the arrays that the benchmark has written and prints, as JSON, the seconds of the version in
Gram form and of the one that recomputes predictions, and the final weights of both.
"""

import json
import sys
import time

import numpy as np

folder, nodes, features, points, rows, rounds, alpha = sys.argv[1], *map(float, sys.argv[2:])
nodes, features, points, rows, rounds = map(int, (nodes, features, points, rows, rounds))


def array(name, *shape):
    return np.fromfile(f"{folder}/{name}").reshape(shape)


X, y = array("x", nodes, rows, features), array("y", nodes, rows)
P = array("p", nodes, points, features)
A, start = array("a", nodes, nodes), array("w", nodes, features)


def descend(gradient):
    weights, squares = start.copy(), np.zeros_like(start)
    for first in [True] + [False] * (rounds - 1):
        g = gradient(weights, np.zeros_like(weights) if first else weights)
        squares = 0.99 * squares + (1 - 0.99) * g * g
        weights = weights - 0.01 * g / (np.sqrt(squares) + 1e-8)
    return weights


def gram():
    Q = np.einsum("nri,nrj->nij", X, X) / rows
    q = np.einsum("nri,nr->ni", X, y) / rows
    K = np.einsum("npi,npj->nij", P, P) / points
    own = Q + alpha * np.einsum("nm,mij->nij", A, K)

    def gradient(weights, heard):
        shared = np.matmul(K, heard[:, :, None])[:, :, 0]
        return 2 * (np.matmul(own, weights[:, :, None])[:, :, 0] - q - alpha * (A @ shared))

    return descend(gradient)


def recomputed():
    def gradient(weights, heard):
        residual = np.matmul(X, weights[:, :, None])[:, :, 0] - y
        g = 2 / rows * np.einsum("nr,nri->ni", residual, X)
        told = np.matmul(P, heard[:, :, None])[:, :, 0]
        for node in range(nodes):
            own = P @ weights[node]
            pull = (own - told) * A[node][:, None]
            g[node] += 2 * alpha / points * np.einsum("np,npi->i", pull, P)
        return g

    return descend(gradient)


def timed(work):
    begun = time.perf_counter()
    answer = work()
    return time.perf_counter() - begun, answer.ravel().tolist()


gram()
times = sorted(timed(gram) for _ in range(3))
slow = timed(recomputed)
print(json.dumps({"gram": times[1][0], "recomputed": slow[0], "weights": times[1][1], "other": slow[1]}))
