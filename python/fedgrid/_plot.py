"""Figures of a run, for those who have matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .run import Run


def plot(run: Run, axes: Any = None) -> Any:
    """The comparison, the gains and the residuals side by side."""
    import matplotlib.pyplot as plt

    compared = run.compare()
    if axes is None:
        _, axes = plt.subplots(1, 3, figsize=(13, 3.6), layout="constrained")
    first, second, third = axes
    rows = compared.rows()
    names = [row["method"] for row in rows]
    errors = [row["validation"] if row["test"] is None else row["test"] for row in rows]
    colours = ["tab:blue" if name == compared.own else "silver" for name in names]
    first.barh(names[::-1], errors[::-1], color=colours[::-1])
    first.set(xlabel=str(compared.result["metric"]), title=compared.verdict_kind or compared.own)
    gains = sorted(node["gain"] for node in compared.nodes if node["gain"] is not None)
    second.bar(range(len(gains)), gains, width=1.0, color=["tab:red" if g < 0 else "tab:green" for g in gains])
    second.axhline(0.0, color="black", linewidth=0.8)
    second.set(xlabel="nodes, by gain", ylabel="gain over training alone", title="who gains")
    history = run.history
    residuals = [value for value in history["residual"] if value is not None and value > 0.0]
    third.semilogy(range(1, len(residuals) + 1), residuals)
    third.set(xlabel="round or step", ylabel=run.certificate_["kind"], title=run.engine_)
    return first.figure
