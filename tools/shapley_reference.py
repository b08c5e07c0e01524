#!/usr/bin/env python3
"""Reference numbers for explanations of trees: what the package shap gives for trees of scikit-learn.

    python -m venv reference && reference/bin/pip install shap scikit-learn
    reference/bin/python tools/shapley_reference.py    # writes crates/fedgrid/src/explain/reference.json

Trees are written as our lists of nodes; parts are those of `TreeExplainer` with `tree_path_dependent`.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import shap
import sklearn
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

PLACE = Path(__file__).parent.parent / "crates/fedgrid/src/explain/reference.json"
FEATURES, ROWS, EXPLAINED = 4, 120, 5


def uniforms(seed: int):
    """Park and Miller's generator, which any computer draws alike."""
    state = seed
    while True:
        state = 16807 * state % 2147483647
        yield state / 2147483647


def in_our_order(tree, values: np.ndarray) -> dict[str, list]:
    """The nodes of a tree, each before its left branch, that before its right one."""
    nodes: dict[str, list] = {"features": [], "thresholds": [], "right": [], "labels": [], "weights": []}

    def add(node: int) -> None:
        place = len(nodes["right"])
        is_leaf = tree.children_left[node] < 0
        nodes["features"].append(0 if is_leaf else int(tree.feature[node]))
        nodes["thresholds"].append(0.0 if is_leaf else float(tree.threshold[node]))
        nodes["right"].append(0)
        nodes["labels"].extend(float(value) for value in values[node])
        nodes["weights"].append(float(tree.weighted_n_node_samples[node]))
        if not is_leaf:
            add(tree.children_left[node])
            nodes["right"][place] = len(nodes["right"])
            add(tree.children_right[node])

    add(0)
    return nodes


def case(model, x: np.ndarray, y: np.ndarray) -> dict:
    model.fit(x, y)
    trees = [one.tree_ for one in getattr(model, "estimators_", [model])]
    explainer = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
    parts = np.asarray(explainer.shap_values(x[:EXPLAINED]))
    # Rows, features, outputs; a single output has no axis of its own.
    parts = parts.reshape(EXPLAINED, FEATURES, -1)
    values = [tree.value[:, 0, :] / (tree.value[:, 0, :].sum(1, keepdims=True) if parts.shape[2] > 1 else 1) for tree in trees]
    return {
        "outputs": parts.shape[2],
        "trees": [in_our_order(tree, own) for tree, own in zip(trees, values)],
        "rows": x[:EXPLAINED].tolist(),
        "base": np.atleast_1d(explainer.expected_value).tolist(),
        "parts": parts.transpose(0, 2, 1).reshape(EXPLAINED, -1).tolist(),
    }


def main() -> None:
    draw = uniforms(7)
    # Few digits, so that single precision, which scikit-learn reads, takes the same branches.
    x = np.array([[round(8 * next(draw), 1) for _ in range(FEATURES)] for _ in range(ROWS)])
    y = x[:, 0] * x[:, 1] - 2 * x[:, 2] + np.array([next(draw) for _ in range(ROWS)])
    classes = (y > 5).astype(int) + (y > 20)
    weak = dict(n_estimators=3, max_depth=4, random_state=1)
    made = {
        "made_with": f"shap {shap.__version__}, scikit-learn {sklearn.__version__}",
        "cases": [
            case(DecisionTreeRegressor(max_depth=5, min_samples_leaf=3), x, y),
            case(RandomForestRegressor(**weak), x, y),
            case(RandomForestClassifier(**weak), x, classes),
        ],
    }
    PLACE.write_text(json.dumps(made) + "\n")


if __name__ == "__main__":
    main()
