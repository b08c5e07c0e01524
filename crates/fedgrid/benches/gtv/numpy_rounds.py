"""Plain primal-dual rounds with numpy and scipy.sparse on a 4-regular network, per processor second."""
import json
import sys
import time

try:
    import networkx as nx
    import numpy as np
    import scipy.sparse as sp
except ImportError as error:
    print(json.dumps({"skipped": str(error)}))
    sys.exit()

n, rounds = int(float(sys.argv[2])), int(float(sys.argv[3]))
d = m = 10
rng = np.random.default_rng(0)
truth = rng.normal(size=d)
edges = np.array(nx.random_regular_graph(4, n, seed=1).edges())
count = len(edges)
down = sp.csr_matrix(
    (np.r_[np.ones(count), -np.ones(count)], (np.r_[np.arange(count), np.arange(count)], edges.T.ravel())),
    shape=(count, n),
)
up = down.T.tocsr()
x = rng.normal(size=(n, m, d))
y = x @ truth + 0.1 * rng.normal(size=(n, m))
tau, alpha, sigma = 1 / 4, 0.1, 0.45
inverse = np.linalg.inv(2 * tau * np.einsum("nij,nik->njk", x, x) + np.eye(d))
right = 2 * tau * np.einsum("nij,ni->nj", x, y)
w, u = np.zeros((n, d)), np.zeros((count, d))
best = 0.0
for _ in range(3):
    begun = time.process_time()
    for _ in range(rounds):
        before = w
        w = np.matmul(inverse, (w - tau * (up @ u) + right)[:, :, None])[:, :, 0]
        u = u + sigma * (down @ (2 * w - before))
        u *= np.minimum(1, alpha / np.maximum(np.linalg.norm(u, axis=1), 1e-12))[:, None]
    best = max(best, rounds / (time.process_time() - begun))
print(json.dumps({"rounds_per_second": best}))
