"""The papers' figures again, with the authors' values beside ours."""

from __future__ import annotations

import json
from typing import Any

from . import _fedgrid as native
from ._work import Work


class Figure:
    """A figure that has been run: `rows` hold our value, the authors' and the band between."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.name = str(found["name"])
        self.paper = str(found["paper"])
        self.title = str(found["title"])
        self.rows: list[dict[str, Any]] = found["rows"]
        self.claims: list[tuple[str, bool]] = [(text, holds) for text, holds in found["claims"]]
        self.seconds = float(found["seconds"])
        self.svg = str(found["svg"])
        self._table = str(found["table"])

    @property
    def agrees(self) -> bool:
        """Whether all values lie in their bands and all claims hold."""
        values = all(row["agrees"] for row in self.rows)
        return values and all(holds for _, holds in self.claims)

    def to_pandas(self) -> Any:
        """One row per compared value."""
        import pandas

        return pandas.DataFrame(self.rows)

    def __str__(self) -> str:
        return self._table

    def __repr__(self) -> str:
        return f"Figure({self.name})"

    def _repr_html_(self) -> str:
        return self.svg


def figures() -> list[str]:
    """The names of all figures.

    >>> import fedgrid as fg
    >>> "plug-in-and-learn/fig1a" in fg.figures()
    True
    """
    return native.figures()


def reproduce(name: str, quick: bool = False, n_jobs: int | None = None) -> list[Figure]:
    """Runs a figure such as "plug-in-and-learn/fig1a", or all of a paper."""
    done = native.run_figures(name, quick, Work(n_jobs).quiet())
    return [Figure(json.loads(found)) for found in done]
