"""What scikit-learn learns from the data of the agreement table: predictions, a tree, test errors."""

import json
import sys

import numpy as np
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

folder, seeds, rows, tests, features = sys.argv[1], *map(int, map(float, sys.argv[2:6]))
ridge, lasso, width = map(float, sys.argv[6:])


def array(name, *shape):
    return np.fromfile(f"{folder}/{name}").reshape(seeds, *shape)


X, T = array("x", rows, features), array("xt", tests, features)
Y, YT = array("y", rows), array("yt", tests)
C, CT = array("c", rows).astype(int), array("ct", tests).astype(int)
K = array("k", rows).astype(int)
coarse, W = array("coarse", rows, features), array("w", rows)

x, t, y, w = X[0], T[0], Y[0], W[0]
answer = {}


def predictions(name, model, labels=y):
    model.fit(x, labels, sample_weight=w)
    told = model.predict_proba(t) if hasattr(model, "predict_proba") else model.predict(t)
    answer[name] = told.ravel().tolist()


exact = {"tol": 1e-14, "max_iter": 1_000_000}
newton = {"C": 1 / (2 * ridge), "solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000}
predictions("linear", LinearRegression())
predictions("ridge", Ridge(alpha=ridge))
# scikit-learn divides the squares by twice the total weight, and the absolute values by nothing.
predictions("lasso", Lasso(alpha=lasso / (2 * w.sum()), **exact))
predictions("logistic, two classes", LogisticRegression(**newton), C[0])
predictions("logistic, three classes", LogisticRegression(**newton), K[0])
predictions("kernel ridge", KernelRidge(alpha=ridge, kernel="rbf", gamma=1 / (2 * width**2)))

tree = DecisionTreeRegressor(max_depth=5, min_weight_fraction_leaf=0.02, random_state=0)
tree = tree.fit(x, y, sample_weight=w).tree_
inner = tree.children_right > 0
answer["splits"] = tree.feature[inner].tolist()
answer["thresholds"] = tree.threshold[inner].tolist()
answer["leaves"] = tree.value[~inner].ravel().tolist()


def errors(name, make, train, labels, test, known):
    """The mean squared error of numbers or of the second class's probability, for each seed."""
    found = []
    for s in range(seeds):
        model = make(s).fit(train[s], labels[s], sample_weight=W[s])
        classes = hasattr(model, "predict_proba")
        told = model.predict_proba(test[s])[:, 1] if classes else model.predict(test[s])
        weight = W[s] if test is train else None
        found.append(np.average((told - known[s]) ** 2, weights=weight))
    answer[name] = found


def coarse_tree(s):
    return DecisionTreeRegressor(max_depth=5, random_state=s)


errors("tree, training error with ties", coarse_tree, coarse, Y, coarse, Y)
cases = {
    "forest": (lambda s: RandomForestRegressor(max_features=1 / 3, random_state=s), Y, YT),
    "forest, two classes": (lambda s: RandomForestClassifier(random_state=s), C, CT),
    "extra trees": (lambda s: ExtraTreesRegressor(random_state=s), Y, YT),
    "boosting": (lambda s: GradientBoostingRegressor(random_state=s), Y, YT),
    "boosting, two classes": (lambda s: GradientBoostingClassifier(random_state=s), C, CT),
}
for name, (make, labels, known) in cases.items():
    errors(name, make, X, labels, T, known)
print(json.dumps(answer))
