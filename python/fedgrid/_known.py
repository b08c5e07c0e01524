"""A part of the target that is known beforehand, and how it enters predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._frames import Floats, Table, is_table, numbers
from ._rows import is_name


class KnownPart:
    """The offset or the exposure of new rows."""

    def __init__(self, column: str, kind: str, given: Any) -> None:
        self.column = column
        self.kind = kind
        self.given = given

    @staticmethod
    def role_of(kind: str) -> str:
        """What it is called."""
        return "exposure" if kind == "exposure" else "offset"

    @property
    def role(self) -> str:
        """What it is called."""
        return self.role_of(self.kind)

    def of_node(self, node: Any, X: Any, rows: int) -> Floats:
        """That of the rows of a node."""
        if self.given is None:
            return self.of_rows(X, rows)
        if not isinstance(self.given, Mapping) or node not in self.given:
            raise ValueError(
                f"{self.role} has no numbers for node {node!r}, expected a dict with those of each node"
            )
        return self._checked(numbers(np.asarray(self.given[node]), self.role), rows)

    def of_rows(self, data: Any, rows: int) -> Floats:
        """That of the rows of a table or matrix."""
        if not is_table(data):
            if self.given is None:
                raise ValueError(f"the run was trained with an {self.role}, expected that of the rows as {self.role}=")
            return self._checked(numbers(np.asarray(self.given), self.role), rows)
        table = Table(data)
        given = self.column if self.given is None else self.given
        if not is_name(given, table):
            return self._checked(numbers(np.asarray(given), self.role), rows)
        text = {str(name): name for name in table.names}
        if str(given) not in text:
            raise ValueError(
                f"there is no column {given!r}, the {self.role} that the run was trained with; expected it, or "
                f"{self.role}="
            )
        return self._checked(numbers(table.column(text[str(given)]), self.role), rows)

    def _checked(self, found: Floats, rows: int) -> Floats:
        if len(found) != rows:
            raise ValueError(f"{self.role} has {len(found)} rows, expected {rows}")
        entering = np.exp(found) if self.kind == "log-exposure" else found
        is_sound = np.isfinite(entering) if self.kind == "offset" else np.isfinite(entering) & (entering > 0.0)
        if not is_sound.all():
            row = int(np.argmin(is_sound))
            expected = "a finite number" if self.role == "offset" else "a positive number"
            raise ValueError(f"{self.role} is {found[row]} in row {row}, expected {expected}")
        return entering

    def completed(self, predictions: Floats, entering: Floats) -> Floats:
        """Predictions with their known part."""
        return predictions + entering if self.kind == "offset" else predictions * entering
