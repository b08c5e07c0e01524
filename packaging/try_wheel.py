"""An installed wheel, tried: it trains, compares and predicts, with numpy alone."""

import numpy as np

import fedgrid as fg

draws = np.random.default_rng(0)
rows = {}
for node in range(8):
    X = draws.normal(size=(12, 2))
    rows[node] = (X, np.cos(0.4 * node) * X[:, 0] + 0.1 * draws.normal(size=12))
run = fg.FedRelax(model=fg.Linear()).fit(rows, network=fg.Network.shape("path", 8), folds=3)
predicted = run.predict({0: np.array([[1.0, 0.0]])})[0][0]
assert abs(predicted - 1.0) < 0.3, predicted
print(run.compare())
print(f"fedgrid {fg.__version__} trains")
