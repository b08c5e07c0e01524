"""What users give, in plain values: the one place where numbers of other libraries become Python's."""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any


def scalar(value: Any) -> Any:
    """A number, truth or text of NumPy, also in an array of no dimension, as Python's own; anything else
    as it is."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return value.item()
    return value


def plain(value: Any, name: str = "") -> Any:
    """A value that JSON can hold; keys without a value are left out. `name` is what messages call it."""
    value = scalar(value)
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        if not math.isfinite(value):
            raise ValueError(f"{name} is {float(value)}, expected a finite number")
        return float(value)
    if isinstance(value, Mapping):
        inside = {str(key): plain(part, f"{name}.{key}".lstrip(".")) for key, part in value.items()}
        return {key: part for key, part in inside.items() if part is not None}
    if hasattr(value, "tolist"):  # arrays, columns
        value = value.tolist()
    if isinstance(value, Sequence):
        return [plain(part, name) for part in value]
    raise TypeError(f"{name} is a {type(value).__name__}, expected a number, a text or a list of these")


def to_json(value: Any) -> str:
    """A value of a user as the native side reads it."""
    return json.dumps(plain(value))
