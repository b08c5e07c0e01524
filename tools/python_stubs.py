#!/usr/bin/env python3
"""Writes python/fedgrid/methods.pyi and models.pyi: the types of the classes that are made from the schema of
experiment files when fedgrid is imported. To be run where the wheel is installed, after keys have changed.

    .venv/bin/python tools/python_stubs.py
"""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent


def stub(module: ModuleType, base: type, imported: str) -> str:
    """The stub of a module with one class for each kind."""
    classes = [getattr(module, name) for name in module.__all__]
    made = [one for one in classes if isinstance(one, type) and one is not base]
    lines = [
        '"""Written by tools/python_stubs.py."""\n',
        "from collections.abc import Mapping, Sequence",
        "from typing import Any, Literal\n",
        f"{imported}\n",
        f"__all__ = {list(module.__all__)!r}".replace("'", '"'),
    ]
    return "\n".join([*lines, *(of_class(one, base) for one in made)])


def of_class(one: type, base: type) -> str:
    """A class with its parameters, which are its attributes."""
    signature = inspect.signature(one)
    inherited = inspect.signature(base).parameters
    attributes = [
        f"    {name}: {parameter.annotation}"
        for name, parameter in signature.parameters.items()
        if name not in inherited
    ]
    words, is_positional = ["self"], True
    for parameter in signature.parameters.values():
        if is_positional and parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            is_positional = False
            words.append("*")
        words.append(f"{parameter.name}: {parameter.annotation} = {parameter.default!r}")
    head = [f"\nclass {one.__name__}({base.__name__}):", f'    """{(one.__doc__ or "").splitlines()[0]}"""\n']
    # A class without parameters has the constructor of its base.
    init = [] if len(words) == 1 else [f"    def __init__({', '.join(words)}) -> None: ..."]
    return "\n".join([*head, *attributes, *init, ""])


def stubs() -> dict[str, str]:
    """The text of each stub by its file's name."""
    from fedgrid import methods, models

    learned = "from ._learn import learn_network\nfrom ._method import Method"
    return {
        "methods.pyi": stub(methods, methods.Method, learned),
        "models.pyi": stub(models, models.Model, "from ._model import Model"),
    }


if __name__ == "__main__":
    for name, text in stubs().items():
        (ROOT / "python" / "fedgrid" / name).write_text(text, encoding="utf-8")
