"""GTV minimisation with the norm penalty, by CVXPY with Clarabel: processor seconds and objective."""
import json
import sys
import time

try:
    import cvxpy as cp
    import numpy as np
    import scipy.sparse as sp
except ImportError as error:
    print(json.dumps({"skipped": str(error)}))
    sys.exit()

folder, n, alpha = sys.argv[1], int(float(sys.argv[2])), float(sys.argv[3])
edges = np.fromfile(f"{folder}/edges").reshape(-1, 2).astype(int)
rows = np.fromfile(f"{folder}/rows").reshape(-1, 4)
begun = time.process_time()
count = len(edges)
difference = sp.csr_matrix(
    (np.r_[np.ones(count), -np.ones(count)], (np.r_[np.arange(count), np.arange(count)], edges.T.ravel())),
    shape=(count, n),
)
node = rows[:, 0].astype(int)
m = np.bincount(node, minlength=n)[node]
design = sp.csr_matrix(
    (rows[:, 1:3].ravel(), (np.repeat(np.arange(len(rows)), 2), (2 * node[:, None] + [0, 1]).ravel())),
    shape=(len(rows), 2 * n),
)
w = cp.Variable((n, 2))
scaled = sp.diags(1 / np.sqrt(m))
fit = cp.sum_squares(scaled @ design @ cp.reshape(w, (2 * n,), order="C") - rows[:, 3] / np.sqrt(m))
problem = cp.Problem(cp.Minimize(fit + alpha * cp.sum(cp.norm(difference @ w, 2, axis=1))))
value = problem.solve(solver=cp.CLARABEL)
print(json.dumps({"seconds": time.process_time() - begun, "objective": value}))
