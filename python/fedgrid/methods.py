"""How nodes learn together: FedRelax, total variation of weights (GTV), PersFL, and the methods to compare with.

There is a class for every kind of method that an experiment file may name, with the keys of that kind: first its
strength, or "auto" to choose it on validation rows, then `model`; None is the usual value. A method is a bundle of
these; its `fit` gives a `Run`, which holds one model per node. Types are in `methods.pyi`, which
`tools/python_stubs.py` writes.

FedAvg and its relatives average weights, so that nodes need models of one size with a gradient: linear,
elastic-net, huber, quantile, poisson, logistic, graphical lasso or perceptron. They need no network, but for
`Gossip`. The rivals also stand beside the network in its own comparison: `FedRelax(baselines=["fedavg", "ditto"])`,
or ["all"]. `Local`, `Pooled` and `Shrunk` are rows of every comparison.
"""

from __future__ import annotations

import inspect
import textwrap

from ._kinds import SCHEMA, Key, Kind, key, kinds, made
from ._learn import learn_network
from ._method import COMMON, FACTS, Method

#: Names that are no plain words.
_CLASS_NAMES = {
    "fedrelax": "FedRelax", "gtv": "GTV", "persfl": "PersFL", "fedavg": "FedAvg", "fedprox": "FedProx",
    "apfl": "APFL", "ifca": "IFCA", "clustered": "ClusteredFL", "fedmd": "FedMD",
}  # fmt: skip

#: What the schema cannot say.
_NOTES = {
    "auto": """
        This is what an experiment file without a kind means. The run's `kind_` is the method that was chosen; its
        comparison has the others, too, which were scored on test rows after the choice.

        >>> import fedgrid as fg, numpy as np
        >>> draw = np.random.default_rng(0)
        >>> x, noise = draw.normal(size=(6, 30, 2)), draw.normal(size=(6, 30))
        >>> rows = {f"n{k}": (x[k], x[k] @ [1, 2] + noise[k]) for k in range(6)}
        >>> run = fg.Auto().fit(rows, network=fg.Network.shape("path", list(rows)))
        >>> [one["kind"] for one in run.result["method"]["candidates"]]
        ['fedrelax', 'gtv', 'mixed']
        >>> run.kind_ in {"fedrelax", "gtv", "mixed"}
        True
        """,
    "fedrelax": """
        Every node refits its model, pulled towards its neighbours' predictions on public points. Any model may
        sit at any node.

        >>> import fedgrid as fg, numpy as np
        >>> x = np.array([[1.0], [1.0]])
        >>> rows = {"a": (x, [1.0, 1.0]), "b": (x, [3.0, 3.0])}
        >>> method = fg.FedRelax(alpha=1.0, model=fg.Linear(ridge=0.0, intercept=False))
        >>> run = method.fit(rows, network=fg.Network.shape("path", ["a", "b"]), public=[[-1.0], [1.0]])
        >>> run.predict({"a": [[1.0]], "b": [[1.0]]})["a"].round(6)  # minimises (w-1)²+(v-3)²+(w-v)²
        array([1.666667])
        """,
    "gtv": """
        Models need weights of one size: linear, elastic-net, huber, quantile, poisson, logistic, graphical lasso
        or perceptron. A penalty "norm" makes neighbours equal: clusters. The run's `certificate_` bounds how far
        from the minimum it is. Any parameter about rounds of messages that is not the usual one asks for them.

        >>> import fedgrid as fg
        >>> rows = {"a": ([[1.0]], [1.0]), "b": ([[1.0]], [3.0])}
        >>> method = fg.GTV(10.0, fg.Linear(ridge=0.0, intercept=False), penalty="norm")
        >>> run = method.fit(rows, network=fg.Network.shape("path", ["a", "b"]))
        >>> run.clusters_, run.certificate_["kind"]  # so strong a pull makes both equal
        ({'a': 0, 'b': 0}, 'certified relative gap')
        """,
    "persfl": """
        Every node asks others for a step and keeps the one that helps it most; `rounds` counts iterations.
        Without a network every node may ask every other. The run's `tallies` say who was asked and what it was
        worth. `online={"batch": 10, "enough": 0}` lets training rows come one in every iteration, in their order:
        it begins with the first ten, counts the last ten, and never waits until enough have come.

        >>> import fedgrid as fg
        >>> rows = {"a": ([[1.0], [2.0]], [1.0, 2.0]), "b": ([[1.0], [2.0]], [3.0, 6.0])}
        >>> run = fg.PersFL(0.05, fg.Linear(ridge=0.0, intercept=False), rounds=50).fit(rows)
        >>> {tally["candidate"] for tally in run.tallies if tally["target"] == "a"}
        {'b'}
        """,
    "fedprox": "FedAvg, with local steps pulled to the hub's model.",
    "fine-tuned": "FedAvg, and then some steps alone.",
    "fedmd": "For any model.",
}

#: Calls, and what two nodes of slopes one and three then predict at one.
_EXAMPLES = {
    "local": ("", "[1.0, 3.0]"),
    "pooled": ("", "[2.0, 2.0]"),
    "shrunk": ("1e9, ", "[2.0, 2.0]"),
    "fedavg": ("1.0, ", "[2.0, 2.0]"),
    "fedprox": ("0.1, ", "[2.0, 2.0]"),
    "ditto": ("0.1, ", "[1.05, 2.95]"),
    "apfl": ("0.5, ", "[1.5, 2.5]"),
    "ifca": ("2, ", "[1.0, 3.0]"),
    "fine-tuned": ("5, ", "[1.0, 3.0]"),
    "fedmd": ("1.0, ", "[1.52, 2.48]"),
}


def _notes(kind: Kind, name: str) -> str:
    notes = textwrap.dedent(_NOTES.get(kind.name, "")).strip()
    if kind.name not in _EXAMPLES:
        return notes
    strength, predictions = _EXAMPLES[kind.name]
    return f"""{notes}

>>> import fedgrid as fg
>>> rows = {{"a": ([[1.0], [2.0]], [1.0, 2.0]), "b": ([[1.0], [2.0]], [3.0, 6.0])}}
>>> run = fg.{name}({strength}fg.Linear(ridge=0.0, intercept=False)).fit(rows)
>>> [float(run.predict({{node: [[1.0]]}})[node][0].round(2)) for node in rows]
{predictions}
"""


_COMPARED = ("shuffles", "likelihood_shuffles", "quick", "baselines", "metric")


def _common() -> dict[str, tuple[inspect.Parameter, str]]:
    """The parameters of all methods, with what they mean."""
    compare = SCHEMA["$defs"]["CompareKeys"]["properties"]
    about = {
        "model": "One model for all, or a dict from node to model, with `...` for all others.",
        **{name: key(name, compare[name]).about for name in _COMPARED},
        "random_state": key("seed", SCHEMA["properties"]["seed"]).about,
        "n_jobs": "How many threads train nodes at once; None or -1 is one per core.",
    }
    usual = inspect.signature(Method.__init__).parameters
    return {name: (usual[name], about[name]) for name in COMMON}


def _made(kind: Kind) -> type:
    name = _CLASS_NAMES.get(kind.name, kind.class_name)
    strength = FACTS[kind.name].strength
    first = [key for key in kind.keys if key.name == strength]
    common = _common()
    model, about = common.pop("model")
    parameters = [
        *((key.parameter(positional=True), key.about) for key in first),
        (model.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD), about),
        *((key.parameter(), key.about) for key in kind.keys if key not in first),
        *common.values(),
    ]
    gone = {} if strength == "alpha" else {"alpha": _renamed(name, first)}
    return made(Method, kind, parameters, module=__name__, name=name, notes=_notes(kind, name), gone=gone)


def _renamed(name: str, strength: list[Key]) -> str:
    if name == "Auto":
        return "alpha is for methods that pull, and Auto chooses one; name it, such as FedRelax(alpha)"
    if not strength:
        return f"alpha is for methods that pull, and {name} has no strength"
    about = strength[0].about.split(". Or")[0]
    return f"alpha is for methods that pull; {name} has {strength[0].name} instead: {about[0].lower()}{about[1:]}"


__all__ = ["Method", "learn_network"]
for _kind in kinds("MethodSection"):
    _class = _made(_kind)
    globals()[_class.__name__] = _class
    __all__.append(_class.__name__)
