"""Callbacks that pass rounds and results on to experiment trackers, imported when they are made.

A callback is any object with some of `on_round(record)`, `on_card(card)` and `on_end(run)`.
"""

from __future__ import annotations

from typing import Any


def _numbers(record: dict[str, Any]) -> dict[str, float]:
    kept = ("objective", "loss", "gtv", "residual", "gap", "bytes", "validation")
    return {name: float(record[name]) for name in kept if record.get(name) is not None}


def _strength(run: Any) -> dict[str, Any]:
    """The strength by its own name, such as alpha; none of a method that has none."""
    name = run._strength_name
    return {} if name is None else {name: run.strength_}


class TensorBoard:
    """Writes scalars for TensorBoard (needs tensorboardX, or torch and tensorboard)."""

    def __init__(self, log_dir: str) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(log_dir)

    def on_round(self, record: dict[str, Any]) -> None:
        """Adds the numbers of a round."""
        for name, value in _numbers(record).items():
            self.writer.add_scalar(f"fedgrid/{name}", value, record["round"])

    def on_end(self, run: Any) -> None:
        """Closes the file."""
        self.writer.close()


class MLflow:
    """Logs rounds, strengths and parameters to the active MLflow run."""

    def __init__(self) -> None:
        import mlflow

        self.mlflow = mlflow

    def on_round(self, record: dict[str, Any]) -> None:
        """Logs the numbers of a round."""
        self.mlflow.log_metrics(_numbers(record), step=record["round"])

    def on_end(self, run: Any) -> None:
        """Logs what was chosen."""
        self.mlflow.log_params({"method": run.method.kind, **_strength(run), "ridge": run.ridge_})


class WandB:
    """Logs rounds to the active Weights & Biases run."""

    def __init__(self) -> None:
        import wandb

        self.wandb = wandb

    def on_round(self, record: dict[str, Any]) -> None:
        """Logs the numbers of a round."""
        self.wandb.log(_numbers(record), step=record["round"])

    def on_end(self, run: Any) -> None:
        """Logs what was chosen."""
        self.wandb.log({**_strength(run), "seconds": run.seconds})
