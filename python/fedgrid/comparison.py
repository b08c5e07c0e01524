"""Whether the network helps, and the way there, in numbers that notebooks can show."""

from __future__ import annotations

import html
import json
import textwrap
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from . import _fedgrid as native

WHAT = {
    "local": "every node alone",
    "pooled": "one model for all",
    "shrunk": "pulled to pooled, no network",
    "mixed": "mixed model, no network",
    "network": "neighbours learn together",
    "shuffled": "the network with shuffled nodes",
}


class Comparison:
    """The verdict and what it rests on; `result` is all of it, as the command writes it.

    >>> import fedgrid as fg, numpy as np
    >>> draw = np.random.default_rng(0)
    >>> x, noise = draw.normal(size=(12, 30, 2)), draw.normal(size=(12, 30))
    >>> rows = {f"n{k}": (x[k], x[k] @ [1, 2] + noise[k]) for k in range(12)}
    >>> run = fg.FedRelax().fit(rows, network=fg.Network.shape("path", list(rows)))
    >>> run.compare().verdict_kind  # all nodes are alike
    'pooled'
    """

    def __init__(self, outcome: native.Outcome) -> None:
        self._outcome = outcome

    @cached_property
    def result(self) -> dict[str, Any]:
        """All that was found, as the command's `result.json` has it."""
        found: dict[str, Any] = self._outcome.plain()
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {"result": self.result}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._outcome = native.Outcome.restore(json.dumps(self.result))

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        return str(self.result["verdict"])

    @property
    def verdict_kind(self) -> str | None:
        """network, hub, coupling, coupling-only, pooled, local or undecided; None of a method without
        a network that every comparison has."""
        kind: str | None = self.result["verdict_kind"]
        return kind

    @property
    def helps(self) -> bool:
        """Whether the network helps."""
        return bool(self.result["helps"])

    @property
    def converged(self) -> bool:
        """Whether the run that is compared came as close as asked."""
        return bool(self.result["certificate"]["converged"])

    @property
    def notes(self) -> list[str]:
        """What a reader should know."""
        return list(self.result["notes"])

    @property
    def own(self) -> str:
        """The row of the run's own method: network, or the name of one that knows no network."""
        return "network" if "network" in self.result["comparison"] else str(self.result["method"]["kind"])

    @property
    def warnings(self) -> list[str]:
        """What is to be read before the verdict: what has not converged, or has no rows to judge it."""
        return list(self.result.get("warnings", []))

    @property
    def evidence(self) -> dict[str, Any] | None:
        """What training rows say of the network: how much likelier it makes them (`ratio`), beside its shuffles
        (`shuffled`, `p_value`), with a `sentence`; no promise about other rows. None without a network."""
        found: dict[str, Any] | None = self.result.get("evidence")
        return found

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """Each node: its errors alone and with the network, its gain, its cluster."""
        return list(self.result["nodes"])

    def __getitem__(self, method: str) -> dict[str, Any]:
        """The errors of one method: `validation`, `test`."""
        return self._entries()[method]

    def rows(self) -> list[dict[str, Any]]:
        """One row per method."""
        return [
            {"method": name, "what": self._what(name), **_flat(entry)} for name, entry in self._entries().items()
        ]

    def metrics(self, method: str | None = None, rows: str | None = None) -> dict[str, Any]:
        """What people read of a method, by default of the run's own: of numbers `mse`, `rmse`, `mae` and `r2` (and
        `deviance` of counts), of classes `log_loss`, `accuracy`, `balanced_accuracy`, `auc`, `confusion` (true
        classes are rows) and `calibration` (`expected_error` and `bins`).

        `rows` is "test" or "validation"; by default those that errors are compared on.
        """
        entries = self._entries()
        name = self.own if method is None else method
        if name not in entries:
            raise ValueError(f"there is no method {name!r}, expected {', '.join(entries)}")
        found: dict[str, dict[str, Any]] = entries[name].get("metrics", {})
        if rows not in (None, "test", "validation"):
            raise ValueError(f"rows is {rows!r}, expected test or validation")
        for role in ("test", "validation") if rows is None else (rows,):
            if role in found:
                return found[role]
        raise ValueError(f"{name} was not measured on {'any rows' if rows is None else rows + ' rows'}")

    def _entries(self) -> dict[str, dict[str, Any]]:
        """The errors by row; methods that `Auto` did not choose are rows of the network that they use."""
        found: dict[str, dict[str, Any]] = {}
        for name, entry in self.result["comparison"].items():
            if name == "members":
                found.update({f"network ({kind})": one for kind, one in entry.items()})
            elif name == "baselines":
                found.update(entry)
            else:
                found[name] = entry
        return found

    def _what(self, row: str) -> str:
        method = self.result["method"]
        if row == "network" and method.get("candidates"):
            return f"by {method['kind']}, chosen"
        return "not chosen" if row.startswith("network (") else WHAT.get(row, "")

    def to_pandas(self) -> Any:
        """The methods as a pandas frame."""
        import pandas

        return pandas.DataFrame(self.rows()).set_index("method")

    def nodes_to_pandas(self) -> Any:
        """The nodes as a pandas frame."""
        import pandas

        return pandas.DataFrame(self.nodes).set_index("name")

    @property
    def theory(self) -> dict[str, Any] | None:
        """What the papers' bounds say of the fitted network: `clusters`, `recovery`, `warnings`."""
        return self.result.get("theory")

    def path_to_pandas(self) -> Any:
        """The strengths that were tried, with their validation errors: one row each."""
        import pandas

        rows = [
            {"method": method, **point}
            for method, points in self.result["path"].items()
            for point in points
        ]
        return pandas.DataFrame(rows, columns=["method", "alpha", "ridge", "validation"])

    def __str__(self) -> str:
        # What `fedgrid fit` prints.
        readings = self._outcome.readings()
        parts = [self._outcome.tables(), *([] if readings is None else [_wrapped(readings)])]
        parts += [_wrapped(f"Warning: {warning}") for warning in self.warnings]
        parts.append(_wrapped(self.verdict))
        if self.evidence is not None:
            parts.append(_wrapped(self.evidence["sentence"]))
        if self.notes:
            parts.append("\n".join(_wrapped(f"Note: {note}") for note in self.notes))
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        kind = self.verdict_kind or self.result["method"]["kind"]
        return f"Comparison({'' if self.converged else 'not converged, '}{kind})"

    def _repr_html_(self) -> str:
        table = f"<pre>{html.escape(self._outcome.tables())}</pre>"
        warnings = "".join(f"<b>Warning: {html.escape(said)}</b><br>" for said in self.warnings)
        verdict = f"<p>{warnings}{html.escape(self.verdict)}</p>"
        return f"{verdict}{table}{html_notes(self.notes)}"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 80, break_long_words=False, break_on_hyphens=False)


def html_notes(notes: Sequence[str]) -> str:
    """Notes as a notebook shows them."""
    lines = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    return f"<ul>{lines}</ul>" if lines else ""


def _flat(entry: dict[str, Any]) -> dict[str, Any]:
    """The errors of a method with its other measures beside them, where errors are compared."""
    measures = entry.get("metrics", {})
    measures = measures.get("test", measures.get("validation", {}))
    own = {name: value for name, value in entry.items() if name != "metrics"}
    numbers = {name: value for name, value in measures.items() if name not in ("rows", "confusion", "calibration")}
    if "calibration" in measures:
        numbers["calibration_error"] = measures["calibration"]["expected_error"]
    return {**own, **numbers}


class History:
    """The rounds of a run: a column by name, a round by number, or a pandas frame.

    A run that was solved directly has no rounds; its `residual` column holds what its solver saw.
    """

    def __init__(self, details: dict[str, Any]) -> None:
        self._rounds: list[dict[str, Any]] = list(details["rounds"])
        if not self._rounds:
            steps = details["steps"] or range(1, len(details["residuals"]) + 1)
            pairs = zip(steps, details["residuals"])
            self._rounds = [{"round": step, "residual": value} for step, value in pairs]

    def __len__(self) -> int:
        return len(self._rounds)

    def __getitem__(self, key: str | int) -> Any:
        if isinstance(key, str):
            return [record.get(key) for record in self._rounds]
        return self._rounds[key]

    def to_pandas(self) -> Any:
        """One row per round."""
        import pandas

        return pandas.DataFrame(self._rounds)

    def __repr__(self) -> str:
        return f"History({len(self)} rounds)"
