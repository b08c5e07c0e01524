"""The tree experiment of "Plug In and Learn" in scikit-learn: four updates of 150 trees.

Every node is refitted on its own rows and the public points of its neighbours, labelled by their
trees; rows of weight zero are dropped. Prints seconds and the public predictions after each update.
"""

import json
import sys
import time

import numpy as np
from sklearn.tree import DecisionTreeRegressor

folder, nodes, features, points, rows, updates, alpha = sys.argv[1], *map(float, sys.argv[2:])
nodes, features, points, rows, updates = map(int, (nodes, features, points, rows, updates))


def array(name, *shape):
    return np.fromfile(f"{folder}/{name}").reshape(shape)


X, y = array("x", nodes, rows, features), array("y", nodes, rows)
P, A = array("p", nodes, points, features), array("a", nodes, nodes)


def fit(X, y, weight):
    return DecisionTreeRegressor(max_depth=5, random_state=0).fit(X, y, sample_weight=weight)


begun = time.perf_counter()
trees = [fit(X[i], y[i], np.full(rows, 1 / rows)) for i in range(nodes)]
for _ in range(updates):
    told = [tree.predict(P[i]) for i, tree in enumerate(trees)]
    new = []
    for i in range(nodes):
        near = np.flatnonzero(A[i])
        stacked = np.concatenate([X[i], P[near].reshape(-1, features)])
        labels = np.concatenate([y[i]] + [told[j] for j in near])
        pulls = np.repeat(alpha * A[i][near] / points, points)
        new.append(fit(stacked, labels, np.concatenate([np.full(rows, 1 / rows), pulls])))
    trees = new
seconds = time.perf_counter() - begun
final = np.concatenate([tree.predict(P[i]) for i, tree in enumerate(trees)])
print(json.dumps({"seconds": seconds, "predictions": final.tolist()}))
