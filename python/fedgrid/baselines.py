"""Where runs that earlier versions have pickled look for their methods, which are in `fedgrid.methods`."""

from __future__ import annotations

from typing import Any

from . import methods


def __getattr__(name: str) -> Any:
    return getattr(methods, name)
