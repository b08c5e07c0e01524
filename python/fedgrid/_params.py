"""Parameters in the manner of scikit-learn, without scikit-learn."""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np


class Params:
    """Keyword arguments of `__init__` that can be read, changed and shown."""

    @classmethod
    def _names(cls) -> list[str]:
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return [p.name for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Changes some parameters."""
        known = list(self.get_params())
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"there is no parameter {name!r}, expected one of {known}")
            setattr(self, name, value)
        return self

    @classmethod
    def _usual(cls) -> dict[str, Any]:
        """The defaults of those parameters that have one."""
        parameters = inspect.signature(cls.__init__).parameters.values()
        return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # An earlier version may have had fewer parameters.
        self.__dict__.update({**self._usual(), **state})

    def __repr__(self) -> str:
        usual = self._usual()
        shown = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if name not in usual or not _same(value, usual[name])
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Params):
            return NotImplemented
        mine, theirs = self.get_params(), other.get_params()
        return mine.keys() == theirs.keys() and all(_same(mine[k], theirs[k]) for k in mine)

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and np.array_equal(a, b)
    return a is b or (type(a) is type(b) and bool(a == b))
