"""Estimators for scikit-learn: pipelines, grid searches and everything that clones and scores.

The node of each row is a column of X (`node="site"`, a name or a position) or the argument `groups`
of `fit` and `predict`. Without either, all rows belong to one node. A row of `sample_weight` k counts as k rows.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ._frames import coded, name_of
from ._network import Network
from ._plain import scalar
from .methods import FedRelax
from .models import Linear, Logistic
from .run import Run


class _FedRelaxEstimator(BaseEstimator):  # type: ignore[misc]
    """What regressor and classifier have in common."""

    run_: Run

    def __init__(
        self,
        alpha: float | Literal["auto"] = 1.0,
        model: Any = None,
        network: Network | None = None,
        node: Any = None,
        public: Any = None,
        rounds: int = 500,
        tolerance: float = 1e-6,
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.model = model
        self.network = network
        self.node = node
        self.public = public
        self.rounds = rounds
        self.tolerance = tolerance
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _divided(self, X: Any, groups: Any) -> tuple[Any, npt.NDArray[Any] | None]:
        """The features and the node of each row."""
        if groups is not None:
            return X, np.asarray(groups)
        if self.node is None:
            return X, None
        if hasattr(X, "columns"):
            if self.node not in list(X.columns):
                raise ValueError(f"X has no column {self.node!r}, which names the node")
            nodes = np.asarray(X[self.node])
            kept = [name for name in X.columns if name != self.node]
            return X[kept], nodes
        cells = np.asarray(X)
        index = int(self.node)
        others = np.delete(cells, index, axis=1)
        return (others.astype(float) if others.dtype == object else others), cells[:, index]

    def _fit(self, X: Any, y: Any, nodes: npt.NDArray[Any] | None, task: str, sample_weight: Any) -> Self:
        rows = len(X)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        if nodes is not None and len(nodes) != rows:
            raise ValueError(f"groups has {len(nodes)} rows, expected {rows}")
        codes, found = (np.zeros(rows, dtype=np.int64), ["all"]) if nodes is None else coded(nodes)
        network = self.network
        if network is None:
            network = Network.shape("complete", found) if len(found) > 1 else Network(found)
        data = {
            node: (X[codes == index], y[codes == index]) for index, node in enumerate(found)
        }
        weights = (
            None
            if sample_weight is None
            else {node: sample_weight[codes == index] for index, node in enumerate(found)}
        )
        method = FedRelax(
            alpha=self.alpha, model=self._model(), rounds=self.rounds, tolerance=self.tolerance,
            random_state=self._seed(), n_jobs=self.n_jobs,
        )  # fmt: skip
        self.run_ = method.fit(
            data, network=network, public=self.public, task=task, weight=weights, progress=False
        )
        self.network_ = network
        self.n_iter_ = max(1, len(self.run_.history))
        return self

    def _model(self) -> Any:
        raise NotImplementedError

    def _seed(self) -> int:
        seed = scalar(self.random_state)
        if seed is None or isinstance(seed, int):
            return 1 if seed is None else seed
        return int(seed.randint(2**31 - 1))

    def _asked(self, X: Any, groups: Any) -> tuple[Any, npt.NDArray[Any]]:
        check_is_fitted(self)
        X, nodes = self._divided(X, groups)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        if nodes is None:
            if len(self.run_.nodes_) > 1:
                raise ValueError("the node of each row is not known, expected groups=")
            nodes = np.full(len(X), name_of(self.run_.nodes_[0]), dtype=object)
        return X, nodes


class FedRelaxRegressor(RegressorMixin, _FedRelaxEstimator):  # type: ignore[misc]
    """One regression model per node, pulled towards its neighbours' predictions.

    `model` is anything that `FedRelax` takes; by default a linear model with a small ridge.

    >>> from fedgrid.sklearn import FedRelaxRegressor
    >>> X, y, groups = [[1.0], [2.0], [1.0], [2.0]], [1.0, 2.0, 3.0, 6.0], ["a", "a", "b", "b"]
    >>> fitted = FedRelaxRegressor(alpha=0.0).fit(X, y, groups=groups)
    >>> fitted.predict([[3.0], [3.0]], groups=["a", "b"]).round(3)
    array([3., 9.])
    """

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Self:
        """Trains one model for every node."""
        X, nodes = self._divided(X, groups)
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        return self._fit(X, y, nodes, "regression", sample_weight)

    def _model(self) -> Any:
        return Linear(ridge=1e-6) if self.model is None else self.model

    def predict(self, X: Any, groups: Any = None) -> npt.NDArray[Any]:
        """One number per row, by its own node's model."""
        X, nodes = self._asked(X, groups)
        found: npt.NDArray[Any] = self.run_.predict(X, node=nodes)
        return found


class FedRelaxClassifier(ClassifierMixin, _FedRelaxEstimator):  # type: ignore[misc]
    """One classifier per node, pulled towards its neighbours' predicted probabilities.

    >>> from fedgrid import Tree
    >>> from fedgrid.sklearn import FedRelaxClassifier
    >>> X, y, groups = [[1.0], [2.0], [1.0], [2.0]], ["no", "yes", "yes", "no"], [1, 1, 2, 2]
    >>> fitted = FedRelaxClassifier(alpha=0.0, model=Tree()).fit(X, y, groups=groups)
    >>> fitted.predict([[2.0], [2.0]], groups=[1, 2])
    array(['yes', 'no'], dtype='<U3')
    """

    classes_: npt.NDArray[Any]

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Self:
        """Trains one model for every node."""
        X, nodes = self._divided(X, groups)
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(self.classes_)} class"
            )
        return self._fit(X, y, nodes, "classification", sample_weight)

    def _model(self) -> Any:
        return Logistic(ridge=1e-4) if self.model is None else self.model

    def predict_proba(self, X: Any, groups: Any = None) -> npt.NDArray[Any]:
        """One probability per class and row."""
        X, nodes = self._asked(X, groups)
        found: npt.NDArray[Any] = self.run_.predict_proba(X, node=nodes)
        return found

    def predict(self, X: Any, groups: Any = None) -> npt.NDArray[Any]:
        """One class per row, by its own node's model."""
        probabilities = self.predict_proba(X, groups)
        found: npt.NDArray[Any] = self.classes_[probabilities.argmax(axis=1)]
        return found
