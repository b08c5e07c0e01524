"""Figures of a run, for those who have matplotlib."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ._frames import shown

if TYPE_CHECKING:
    from .run import Run


def comparison(run: Run, axes: Any = None, _: str | None = None) -> Any:
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


def coefficients(run: Run, axes: Any = None, coefficient: str | None = None) -> Any:
    """Each coefficient over the nodes in the order of its values, or the one that is named."""
    import matplotlib.pyplot as plt

    found = run.coefficients()
    groups = found.get("class", [None] * len(found["node"]))
    names = list(dict.fromkeys(zip(groups, found["coefficient"])))
    chosen = [name for name in names if coefficient in (None, name[1])]
    if not chosen:
        known = sorted({name for _, name in names})
        expected = f"one of {shown(known)}" if known else "a run whose models have coefficients"
        raise ValueError(f"there is no coefficient {coefficient!r}, expected {expected}")
    if axes is None:
        size = (4.0 * min(len(chosen), 3), 3.0 * math.ceil(len(chosen) / 3))
        figure = plt.figure(figsize=size, layout="constrained")
        axes = figure.subplots(math.ceil(len(chosen) / 3), min(len(chosen), 3), squeeze=False).ravel()
        for empty in axes[len(chosen) :]:
            empty.set_axis_off()
    axes = np.atleast_1d(np.asarray(axes, dtype=object))
    keys = list(zip(groups, found["coefficient"]))
    for (group, name), axis in zip(chosen, axes):
        rows = [k for k, key in enumerate(keys) if key == (group, name)]
        value, error = found["value"][rows], found["standard_error"][rows]
        order = np.argsort(value, kind="stable")
        axis.errorbar(
            np.arange(len(order)), value[order], yerr=2.0 * np.nan_to_num(error[order]), fmt=".",
            markersize=3, elinewidth=0.6, color="tab:blue", ecolor="silver",
        )  # fmt: skip
        axis.axhline(value.mean(), color="black", linewidth=0.8)
        axis.set(xlabel="nodes, by value", title=name if group is None else f"{name} ({group})")
    return axes[0].figure
