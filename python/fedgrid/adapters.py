"""Python objects as local models.

Any object with `fit(X, y, sample_weight=...)` and `predict` or `predict_proba` will do; it is cloned
for every fit and never changed. A node's own rows weigh one each, as in a plain `fit(X, y)`, and
public points weigh what the network's pull makes of them.
"""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ._frames import Floats

#: What a model without `sample_weight` is given: a resample of this many rows for each of its own.
RESAMPLED = 4

#: The form of pickles, so that another Python reads them; 5 is that of Python 3.8 and later.
PICKLE = 5


class Adapter:
    """What trains and predicts for one node."""

    #: Whether a fit can start from an earlier one.
    warm = False
    #: Whether the model has weights and gradients.
    parametric = False
    #: Whether rows stand for several each.
    weighted = False
    #: Whether a node's own rows weigh one each, or as many as they stand for, and not a share of the node.
    counts = False

    def __init__(self, node: str, classes: npt.NDArray[Any] | None, seed: int) -> None:
        self.node = node
        self.classes = classes
        self.seed = seed
        self.kind = type(self).__name__
        self.family = id(self)

    @property
    def note(self) -> str:
        """What is added to an exception of this model."""
        return f"raised by the {self.kind} of node '{self.node}'"

    def fit(self, X: Floats, y: Floats, weights: Floats, current: Any) -> Any:
        """The fitted object for weighted rows; y holds numbers or class probabilities."""
        raise NotImplementedError

    def raw(self, fitted: Any, X: Floats) -> Any:
        """What the fitted object predicts, as it says it."""
        raise NotImplementedError

    def dump(self, fitted: Any) -> bytes:
        """The fitted object as bytes, for the state of a site; a library with a form of its own takes that."""
        try:
            return pickle.dumps(fitted, protocol=PICKLE)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            error.add_note("a site keeps its state, so that what its models learn must be something that can be pickled")
            raise

    def load(self, stored: bytes) -> Any:
        """What `dump` has written. The file is trusted as code is."""
        return pickle.loads(stored)

    def predict(self, fitted: Any, X: Floats) -> Floats:
        """Checked predictions, one row after the other."""
        outputs = 1 if self.classes is None else len(self.classes)
        try:
            values = np.asarray(self.raw(fitted, X), dtype=np.float64)
        except (TypeError, ValueError) as error:
            error.add_note("predictions must be numbers")
            raise
        if values.size != len(X) * outputs or values.shape[:1] != (len(X),):
            raise ValueError(
                f"node '{self.node}': {self.kind} predicted shape {values.shape} for {len(X)} rows, "
                f"expected ({len(X)},)" + (f" or ({len(X)}, {outputs})" if outputs > 1 else "")
            )
        if not np.isfinite(values).all():
            row = int(np.argwhere(~np.isfinite(values))[0][0])
            raise ValueError(
                f"node '{self.node}': {self.kind} predicted {values.reshape(len(X), -1)[row][0]} "
                f"for row {row}, expected finite numbers"
            )
        if self.classes is not None:
            values = np.clip(values, 0.0, None)
            total = values.sum(axis=1, keepdims=True)
            values = np.where(total > 0.0, values / np.where(total > 0.0, total, 1.0), 1.0 / outputs)
        return np.ascontiguousarray(values).reshape(-1)


class OneClass:
    """A node that has seen one class only."""

    def __init__(self, place: int) -> None:
        self.place = place


class EstimatorAdapter(Adapter):
    """A scikit-learn style estimator, regressor or classifier."""

    counts = True

    def __init__(
        self, estimator: Any, node: str, classes: npt.NDArray[Any] | None, seed: int,
        without_weights: str = "resample",
    ) -> None:  # fmt: skip
        super().__init__(node, classes, seed)
        self.estimator = estimator
        self.kind = type(estimator).__name__
        self.family = id(estimator)
        self.without_weights = without_weights
        self._template: Any = None

    def _new(self) -> Any:
        """An estimator without anything learnt, with a random state of this node's."""
        if self._template is None:
            self._template = cloned(self.estimator)
            seeded(self._template, self.seed)
        return cloned(self._template)

    def fit(self, X: Floats, y: Floats, weights: Floats, current: Any) -> Any:
        labels: Any = y
        model = self._new()
        if self.classes is not None:
            rows, indices = np.nonzero(y > 0.0)
            known, numbers = np.unique(indices, return_inverse=True)
            if len(known) == 1:
                return OneClass(int(known[0]))
            X, weights, labels = X[rows], weights[rows] * y[rows, indices], self.classes[indices]
            if is_numbering(model):
                model.fedgrid_places_, labels = known, numbers
        if np.all(weights == 1.0):
            return _or_self(model.fit(X, labels), model)
        name = weight_argument(model)
        if name is not None:
            return _or_self(model.fit(X, labels, **{name: weights}), model)
        if self.without_weights != "resample":
            raise ValueError(
                f"node '{self.node}': {self.kind}.fit takes no sample_weight, which "
                f"{'weights need' if self.weighted else 'coupling needs'}; "
                'use another model, or fg.Estimator(model, without_weights="resample")'
            )
        rows = resampled(weights, self.seed)
        return _or_self(model.fit(X[rows], labels[rows]), model)

    def raw(self, fitted: Any, X: Floats) -> Any:
        if self.classes is None:
            return fitted.predict(X)
        if isinstance(fitted, OneClass):
            return np.eye(len(self.classes))[np.full(len(X), fitted.place)]
        indices = {_key(label): index for index, label in enumerate(self.classes)}
        if hasattr(fitted, "predict_proba"):
            known = getattr(fitted, "fedgrid_places_", None)
            if known is None:
                known = [indices[_key(label)] for label in fitted.classes_]
            found = np.asarray(fitted.predict_proba(X), dtype=np.float64)
            if found.shape != (len(X), len(known)):
                return found
            answer = np.zeros((len(X), len(self.classes)))
            answer[:, known] = found
            return answer
        said = np.asarray(fitted.predict(X)).reshape(-1)
        return np.eye(len(self.classes))[[indices[_key(label)] for label in said]]


def is_numbering(model: Any) -> bool:
    """Whether classes must be numbered from zero, as XGBoost has it."""
    return type(model).__module__.partition(".")[0] == "xgboost"


def _key(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _or_self(returned: Any, model: Any) -> Any:
    return model if returned is None else returned


def cloned(estimator: Any) -> Any:
    """A copy without anything learnt."""
    if hasattr(estimator, "get_params") and hasattr(estimator, "__sklearn_tags__"):
        from sklearn.base import clone

        return clone(estimator)
    return copy.deepcopy(estimator)


def seeded(model: Any, seed: int) -> None:
    """Gives a model without a random state one of its own, so that runs can be repeated."""
    if hasattr(model, "get_params") and hasattr(model, "set_params"):
        open_ = {
            name: seed
            for name, value in model.get_params().items()
            if name.split("__")[-1] == "random_state" and value is None
        }
        if open_:
            model.set_params(**open_)


def weight_argument(model: Any) -> str | None:
    """How a model's fit is told the row weights; None if it is not."""
    if hasattr(model, "steps"):
        name, last = model.steps[-1]
        inner = weight_argument(last)
        return None if inner is None else f"{name}__{inner}"
    try:
        parameters = inspect.signature(model.fit).parameters
    except (TypeError, ValueError):
        return None
    return "sample_weight" if "sample_weight" in parameters else None


def resampled(weights: Floats, seed: int) -> npt.NDArray[np.int64]:
    """Rows drawn in proportion to their weights, at even distances (systematic resampling)."""
    size = max(100, RESAMPLED * len(weights))
    first = np.random.default_rng(seed).random()
    reached = np.cumsum(weights) / np.sum(weights)
    indices = np.searchsorted(reached, (np.arange(size) + first) / size)
    return np.minimum(indices, len(weights) - 1).astype(np.int64)


class Estimator:
    """An estimator with a word on what to do if its fit takes no `sample_weight`.

    `without_weights` is "resample" (rows are drawn in proportion to their weights) or "refuse".
    """

    def __init__(self, estimator: Any, without_weights: str = "resample") -> None:
        if without_weights not in ("resample", "refuse"):
            raise ValueError(f"without_weights is {without_weights!r}, expected resample or refuse")
        self.estimator = estimator
        self.without_weights = without_weights

    def adapter(self, node: str, classes: npt.NDArray[Any] | None, seed: int) -> Adapter:
        """The adapter of one node."""
        return EstimatorAdapter(self.estimator, node, classes, seed, self.without_weights)


class Functions:
    """A pair of functions as a local model.

    `fit(X, y, weights)` gives anything, and `predict(that, X)` one number, or one probability per
    class, for each row. For classes, y holds one probability per class.

    >>> import fedgrid as fg, numpy as np
    >>> mean = fg.Functions(lambda X, y, w: np.average(y, weights=w),
    ...                     lambda level, X: np.full(len(X), level))
    """

    def __init__(
        self,
        fit: Callable[[Floats, Floats, Floats], Any],
        predict: Callable[[Any, Floats], Any],
        name: str = "Functions",
    ) -> None:
        self.fit = fit
        self.predict = predict
        self.name = name

    def adapter(self, node: str, classes: npt.NDArray[Any] | None, seed: int) -> Adapter:
        """The adapter of one node."""
        return _FunctionsAdapter(self, node, classes, seed)


class _FunctionsAdapter(Adapter):
    counts = True

    def __init__(
        self, functions: Functions, node: str, classes: npt.NDArray[Any] | None, seed: int
    ) -> None:
        super().__init__(node, classes, seed)
        self.functions = functions
        self.kind = functions.name
        self.family = id(functions)

    def fit(self, X: Floats, y: Floats, weights: Floats, current: Any) -> Any:
        return self.functions.fit(X, y, weights)

    def raw(self, fitted: Any, X: Floats) -> Any:
        return self.functions.predict(fitted, X)


def is_classifier(spec: Any) -> bool | None:
    """Whether a model predicts classes; None if it does not say."""
    estimator = getattr(spec, "estimator", spec)
    if hasattr(estimator, "__sklearn_tags__"):
        kind = estimator.__sklearn_tags__().estimator_type
    else:
        kind = getattr(estimator, "_estimator_type", None)
    return None if kind is None else kind == "classifier"
