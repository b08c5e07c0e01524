"""Written by tools/python_stubs.py."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ._learn import learn_network
from ._method import Method

__all__ = ["Method", "learn_network", "Auto", "FedRelax", "GTV", "PersFL", "FedAvg", "FedProx", "Ditto", "APFL", "IFCA", "ClusteredFL", "FineTuned", "Gossip", "FedMD", "Mixed", "Local", "Pooled", "Shrunk"]

class Auto(Method):
    """The best of several methods: each that suits the models (fedrelax any; gtv those with weights of one size; mixed linear, logistic and Poisson regressions with an intercept and no lasso) is tuned alone, and the one of least error on validation rows, or on folds without such rows, is taken."""

    weighting: Literal["nodes", "rows"] | None
    solver: Literal["auto", "rounds"] | None
    rounds: int | None
    tolerance: float | None
    order: Literal["at-once", "in-turn"] | None
    def __init__(self, model: Any = None, *, weighting: Literal["nodes", "rows"] | None = 'nodes', solver: Literal["auto", "rounds"] | None = 'auto', rounds: int | None = 500, tolerance: float | None = 1e-06, order: Literal["at-once", "in-turn"] | None = 'at-once', shuffles: int = 5, likelihood_shuffles: int = 99, quick: bool = False, baselines: Sequence[str] = (), metric: str | None = None, random_state: int | None = None, n_jobs: int | None = None) -> None: ...


class FedRelax(Method):
    """Exchange of predictions on public points."""

    alpha: float | Literal["auto"] | None
    discrepancy: Literal["auto", "squared", "absolute", "huber", "cross-entropy", "kullback-leibler"] | None
    threshold: float | None
    coupling: Literal["one-sided", "symmetric"] | None
    couple_intercept: bool | None
    clip: float | None
    relaxation: float | None
    step: Literal["refit", "descend", "distil"] | None
    steps: int | None
    optimiser: Literal["adam", "rmsprop", "plain"] | None
    step_size: float | None
    distil_points: int | None
    hub: float | None
    weighting: Literal["nodes", "rows"] | None
    solver: Literal["auto", "rounds"] | None
    rounds: int | None
    tolerance: float | None
    order: Literal["at-once", "in-turn"] | None
    def __init__(self, alpha: float | Literal["auto"] | None = 'auto', model: Any = None, *, discrepancy: Literal["auto", "squared", "absolute", "huber", "cross-entropy", "kullback-leibler"] | None = 'auto', threshold: float | None = 1.0, coupling: Literal["one-sided", "symmetric"] | None = 'one-sided', couple_intercept: bool | None = True, clip: float | None = None, relaxation: float | None = 1.0, step: Literal["refit", "descend", "distil"] | None = 'refit', steps: int | None = 1, optimiser: Literal["adam", "rmsprop", "plain"] | None = 'rmsprop', step_size: float | None = 0.01, distil_points: int | None = 100, hub: float | None = 0.0, weighting: Literal["nodes", "rows"] | None = 'nodes', solver: Literal["auto", "rounds"] | None = 'auto', rounds: int | None = 500, tolerance: float | None = 1e-06, order: Literal["at-once", "in-turn"] | None = 'at-once', shuffles: int = 5, likelihood_shuffles: int = 99, quick: bool = False, baselines: Sequence[str] = (), metric: str | None = None, random_state: int | None = None, n_jobs: int | None = None) -> None: ...


class GTV(Method):
    """The minimum of the losses and the total variation of weights. Any key of its rounds of messages that"""

    alpha: float | Literal["auto"] | None
    penalty: Literal["norm", "squared-norm", "one-norm"] | None
    couple_intercept: bool | None
    step: Literal["proximal", "inexact", "gradient"] | None
    error: float | None
    scale: float | None
    relaxation: float | None
    radius: float | None
    stop_on: Literal["residual", "gap", "decrease"] | None
    paper_compat: bool | None
    weighting: Literal["nodes", "rows"] | None
    solver: Literal["auto", "rounds"] | None
    rounds: int | None
    tolerance: float | None
    def __init__(self, alpha: float | Literal["auto"] | None = 'auto', model: Any = None, *, penalty: Literal["norm", "squared-norm", "one-norm"] | None = 'squared-norm', couple_intercept: bool | None = True, step: Literal["proximal", "inexact", "gradient"] | None = 'proximal', error: float | None = 0.1, scale: float | None = None, relaxation: float | None = 1.5, radius: float | None = None, stop_on: Literal["residual", "gap", "decrease"] | None = 'gap', paper_compat: bool | None = False, weighting: Literal["nodes", "rows"] | None = 'nodes', solver: Literal["auto", "rounds"] | None = 'auto', rounds: int | None = 500, tolerance: float | None = 1e-06, shuffles: int = 5, likelihood_shuffles: int = 99, quick: bool = False, baselines: Sequence[str] = (), metric: str | None = None, random_state: int | None = None, n_jobs: int | None = None) -> None: ...


class PersFL(Method):
    """Probes of the neighbours: every node takes the step that helps it most. Its iterations are method.rounds."""

    step: float | Literal["auto"] | None
    probe: Literal["gradient", "proximal", "refit"] | None
    candidates: int | None
    choice: Literal["uniform", "epsilon-greedy", "ucb", "oracle"] | None
    clusters: str | None
    epsilon: float | None
    width: float | None
    top: int | None
    only_if_better: bool | None
    start: Literal["zero", "local"] | None
    held: float | None
    own: bool | None
    targets: Sequence[Any] | None
    online: Mapping[str, Any] | None
    weighting: Literal["nodes", "rows"] | None
    solver: Literal["auto", "rounds"] | None
    rounds: int | None
    def __init__(self, step: float | Literal["auto"] | None = 'auto', model: Any = None, *, probe: Literal["gradient", "proximal", "refit"] | None = 'gradient', candidates: int | None = 20, choice: Literal["uniform", "epsilon-greedy", "ucb", "oracle"] | None = 'uniform', clusters: str | None = None, epsilon: float | None = 0.1, width: float | None = 1.0, top: int | None = 1, only_if_better: bool | None = False, start: Literal["zero", "local"] | None = 'zero', held: float | None = 0.0, own: bool | None = False, targets: Sequence[Any] | None = None, online: Mapping[str, Any] | None = None, weighting: Literal["nodes", "rows"] | None = 'nodes', solver: Literal["auto", "rounds"] | None = 'auto', rounds: int | None = 500, shuffles: int = 5, likelihood_shuffles: int = 99, quick: bool = False, baselines: Sequence[str] = (), metric: str | None = None, random_state: int | None = None, n_jobs: int | None = None) -> None: ...


class FedAvg(Method):
    """One model for all, averaged at a hub."""

    pace: float | Literal["auto"] | None
    averaging: Literal["models", "gradients"] | None
    local_steps: int | None
    participation: float | None
    weighting: Literal["nodes", "rows"] | None
    solver: Literal["auto", "rounds"] | None
    rounds: int | None
    tolerance: float | None
    def __init__(self, pace: float | Literal["auto"] | None = 'auto', model: Any = None, *, averaging: Literal["models", "gradients"] | None = 'models', local_steps: int | None = 5, participation: float | None = 1.0, weighting: Literal["nodes", "rows"] | None = 'nodes', solver: Literal["auto", "rounds"] | None = 'auto', rounds: int | None = 500, tolerance: float | None = 1e-06, shuffles: int = 5, likelihood_shuffles: int = 99, quick: bool = False, baselines: Sequence[str] = (), metric: str | None = None, random_state: int | None = None, n_jobs: int | None = None) -> None: ...


class FedProx(Method):
    """FedAvg with a proximal term."""

    alpha: float | Literal["auto"] | None
    averaging: Literal["models", "gradients"] | None
    local_steps: int | None
    participation: float | None
    weighting: Literal["nodes", "rows"] | None
    solver: Literal["auto", "rounds"] | None
    rounds: int | None
    tolerance: float | None
    def __init__(self, alpha: float | Literal["auto"] | None = 'auto', model: Any = None, *, averaging: Literal["models", "gradients"] | None = 'models', local_steps: int | None = 5, participation: float | None = 1.0, weighting: Literal["nodes", "rows"] | None = 'nodes', solver: Literal["auto", "rounds"] | None = 'auto', rounds: int | None = 500, tolerance: float | None = 1e-06, shuffles: int = 5, likelihood_shuffles: int = 99, quick: bool = False, baselines: Sequence[str] = (), metric: str | None = None, random_state: int | None = None, n_jobs: int | None = None) -> None: ...


class Ditto(Method):
    """A model of each node, pulled to the averaged one."""

    alpha: float | Literal["auto"] | None
    averaging: Literal["models", "gradients"] | None
    local_steps: int | None
    participation: float | None
    weighting: Literal["nodes", "rows"] | None
    solver: Literal["auto", "rounds"] | None
    rounds: int | None
    tolerance: float | None
    def __init__(self, alpha: float | Literal["auto"] | None = 'auto', model: Any = None, *, averaging: Literal["models", "gradients"] | None = 'models', local_steps: int | None = 5, participation: float | None = 1.0, weighting: Literal["nodes", "rows"] | None = 'nodes', solver: Literal["auto", "rounds"] | None = 'auto', rounds: int | None = 500, tolerance: float | None = 1e-06, shuffles: int = 5, likelihood_shuffles: int = 99, quick: bool = False, baselines: Sequence[str] = (), metric: str | None = None, random_state: int | None = None, n_jobs: int | None = None) -> None: ...


class APFL(Method):
    """A mixture of a node's own model and the averaged one."""

    share: float | Literal["auto"] | None
    averaging: Literal["models", "gradients"] | None
    local_steps: int | None
    participation: float | None
    weighting: Literal["nodes", "rows"] | None
    solver: Literal["auto", "rounds"] | None
    rounds: int | None
    def __init__(self, share: float | Literal["auto"] | None = 'auto', model: Any = None, *, averaging: Literal["models", "gradients"] | None = 'models', local_steps: int | None = 5, participation: float | None = 1.0, weighting: Literal["nodes", "rows"] | None = 'nodes', solver: Literal["auto", "rounds"] | None = 'auto', rounds: int | None = 500, shuffles: int = 5, likelihood_shuffles: int = 99, quick: bool = False, baselines: Sequence[str] = (), metric: str | None = None, random_state: int | None = None, n_jobs: int | None = None) -> None: ...


class IFCA(Method):
    """Several averaged models, of which each node trains the best."""

    clusters: float | Literal["auto"] | None
    averaging: Literal["models", "gradients"] | None
    local_steps: int | None
    participation: float | None
    restarts: int | None
    weighting: Literal["nodes", "rows"] | None
    solver: Literal["auto", "rounds"] | None
    rounds: int | None
    tolerance: float | None
    def __init__(self, clusters: float | Literal["auto"] | None = 'auto', model: Any = None, *, averaging: Literal["models", "gradients"] | None = 'models', local_steps: int | None = 5, participation: float | None = 1.0, restarts: int | None = 5, weighting: Literal["nodes", "rows"] | None = 'nodes', solver: Literal["auto", "rounds"] | None = 'auto', rounds: int | None = 500, tolerance: float | None = 1e-06, shuffles: int = 5, likelihood_shuffles: int = 99, quick: bool = False, baselines: Sequence[str] = (), metric: str | None = None, random_state: int | None = None, n_jobs: int | None = None) -> None: ...


class ClusteredFL(Method):
    """Averaging in clusters that are split where their nodes pull apart."""

    threshold: float | Literal["auto"] | None
    averaging: Literal["models", "gradients"] | None
    local_steps: int | None
    participation: float | None
    weighting: Literal["nodes", "rows"] | None
    solver: Literal["auto", "rounds"] | None
    rounds: int | None
    tolerance: float | None
    def __init__(self, threshold: float | Literal["auto"] | None = 'auto', model: Any = None, *, averaging: Literal["models", "gradients"] | None = 'models', local_steps: int | None = 5, participation: float | None = 1.0, weighting: Literal["nodes", "rows"] | None = 'nodes', solver: Literal["auto", "rounds"] | None = 'auto', rounds: int | None = 500, tolerance: float | None = 1e-06, shuffles: int = 5, likelihood_shuffles: int = 99, quick: bool = False, baselines: Sequence[str] = (), metric: str | None = None, random_state: int | None = None, n_jobs: int | None = None) -> None: ...


class FineTuned(Method):
    """The averaged model after some steps of each node alone."""

    steps: float | Literal["auto"] | None
    averaging: Literal["models", "gradients"] | None
    local_steps: int | None
    participation: float | None
    weighting: Literal["nodes", "rows"] | None
    solver: Literal["auto", "rounds"] | None
    rounds: int | None
    tolerance: float | None
    def __init__(self, steps: float | Literal["auto"] | None = 'auto', model: Any = None, *, averaging: Literal["models", "gradients"] | None = 'models', local_steps: int | None = 5, participation: float | None = 1.0, weighting: Literal["nodes", "rows"] | None = 'nodes', solver: Literal["auto", "rounds"] | None = 'auto', rounds: int | None = 500, tolerance: float | None = 1e-06, shuffles: int = 5, likelihood_shuffles: int = 99, quick: bool = False, baselines: Sequence[str] = (), metric: str | None = None, random_state: int | None = None, n_jobs: int | None = None) -> None: ...


class Gossip(Method):
    """Averaging with neighbours."""

    pace: float | Literal["auto"] | None
    weighting: Literal["nodes", "rows"] | None
    solver: Literal["auto", "rounds"] | None
    rounds: int | None
    tolerance: float | None
    def __init__(self, pace: float | Literal["auto"] | None = 'auto', model: Any = None, *, weighting: Literal["nodes", "rows"] | None = 'nodes', solver: Literal["auto", "rounds"] | None = 'auto', rounds: int | None = 500, tolerance: float | None = 1e-06, shuffles: int = 5, likelihood_shuffles: int = 99, quick: bool = False, baselines: Sequence[str] = (), metric: str | None = None, random_state: int | None = None, n_jobs: int | None = None) -> None: ...


class FedMD(Method):
    """Every node pulled to the mean prediction on public points."""

    alpha: float | Literal["auto"] | None
    weighting: Literal["nodes", "rows"] | None
    solver: Literal["auto", "rounds"] | None
    rounds: int | None
    tolerance: float | None
    def __init__(self, alpha: float | Literal["auto"] | None = 'auto', model: Any = None, *, weighting: Literal["nodes", "rows"] | None = 'nodes', solver: Literal["auto", "rounds"] | None = 'auto', rounds: int | None = 500, tolerance: float | None = 1e-06, shuffles: int = 5, likelihood_shuffles: int = 99, quick: bool = False, baselines: Sequence[str] = (), metric: str | None = None, random_state: int | None = None, n_jobs: int | None = None) -> None: ...


class Mixed(Method):
    """Coefficients that differ from node to node by as much as the training rows say."""

    rho: float | Literal["auto"] | None
    shared: Sequence[Any] | None
    free: Sequence[Any] | None
    variances: Mapping[str, Any] | None
    correlated: Literal["auto", "yes", "no"] | None
    likelihood: Literal["reml", "ml"] | None
    choose: Literal["likelihood", "validation"] | None
    weighting: Literal["nodes", "rows"] | None
    solver: Literal["auto", "rounds"] | None
    def __init__(self, rho: float | Literal["auto"] | None = 'auto', model: Any = None, *, shared: Sequence[Any] | None = (), free: Sequence[Any] | None = (), variances: Mapping[str, Any] | None = None, correlated: Literal["auto", "yes", "no"] | None = 'auto', likelihood: Literal["reml", "ml"] | None = 'reml', choose: Literal["likelihood", "validation"] | None = 'likelihood', weighting: Literal["nodes", "rows"] | None = 'nodes', solver: Literal["auto", "rounds"] | None = 'auto', shuffles: int = 5, likelihood_shuffles: int = 99, quick: bool = False, baselines: Sequence[str] = (), metric: str | None = None, random_state: int | None = None, n_jobs: int | None = None) -> None: ...


class Local(Method):
    """Every node alone."""

    weighting: Literal["nodes", "rows"] | None
    solver: Literal["auto", "rounds"] | None
    def __init__(self, model: Any = None, *, weighting: Literal["nodes", "rows"] | None = 'nodes', solver: Literal["auto", "rounds"] | None = 'auto', shuffles: int = 5, likelihood_shuffles: int = 99, quick: bool = False, baselines: Sequence[str] = (), metric: str | None = None, random_state: int | None = None, n_jobs: int | None = None) -> None: ...


class Pooled(Method):
    """One model for all."""

    weighting: Literal["nodes", "rows"] | None
    solver: Literal["auto", "rounds"] | None
    def __init__(self, model: Any = None, *, weighting: Literal["nodes", "rows"] | None = 'nodes', solver: Literal["auto", "rounds"] | None = 'auto', shuffles: int = 5, likelihood_shuffles: int = 99, quick: bool = False, baselines: Sequence[str] = (), metric: str | None = None, random_state: int | None = None, n_jobs: int | None = None) -> None: ...


class Shrunk(Method):
    """Every node pulled to the pooled model."""

    alpha: float | Literal["auto"] | None
    couple_intercept: bool | None
    weighting: Literal["nodes", "rows"] | None
    solver: Literal["auto", "rounds"] | None
    rounds: int | None
    tolerance: float | None
    def __init__(self, alpha: float | Literal["auto"] | None = 'auto', model: Any = None, *, couple_intercept: bool | None = True, weighting: Literal["nodes", "rows"] | None = 'nodes', solver: Literal["auto", "rounds"] | None = 'auto', rounds: int | None = 500, tolerance: float | None = 1e-06, shuffles: int = 5, likelihood_shuffles: int = 99, quick: bool = False, baselines: Sequence[str] = (), metric: str | None = None, random_state: int | None = None, n_jobs: int | None = None) -> None: ...
