"""The network that probes suggest."""

from __future__ import annotations

import json
from typing import Any

from . import _fedgrid as native
from ._method import Method, whole
from ._network import Network
from ._plain import to_json
from ._work import Work


def learn_network(
    data: Any,
    target: Any = None,
    *,
    node: Any = None,
    model: Any = None,
    share: float = 0.1,
    neighbours: int = 8,
    phases: int = 8,
    iterations: int = 40,
    step: float | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    **options: Any,
) -> Network:
    """The network that probes suggest: who helps whom, from a share of all pairs.

    The other arguments are those of `FedRelax.fit`. The pairs that were probed, with their scores,
    are `network.pairs`.

    >>> import fedgrid as fg, numpy as np
    >>> draw = np.random.default_rng(0)
    >>> x, slopes = draw.normal(size=(8, 20, 2)), [[1, 2]] * 4 + [[-1, 3]] * 4
    >>> rows = {f"n{k}": (x[k], x[k] @ slopes[k] + 0.1 * draw.normal(size=20)) for k in range(8)}
    >>> sorted(fg.learn_network(rows, share=1.0).neighbours("n0"))
    ['n1', 'n2', 'n3']
    """
    prepared = Method("persfl", step=1.0, model=model).prepare(data, target, node=node, **options)
    keys = dict(
        share=share, neighbours=neighbours, phases=phases, iterations=iterations, step=step,
        seed=whole(random_state),
    )  # fmt: skip
    how = Work(n_jobs, (), None).how("learn")
    made, about = native.learn(prepared.study, to_json(keys), how)
    network = Network._of(made, prepared.network.nodes)
    network.pairs = json.loads(about)["pairs"]
    return network
