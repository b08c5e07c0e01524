"""The built-in local models: what a node can train without leaving Rust.

There is a class for every kind of model that an experiment file may name, with the keys of that kind. A `ridge`
of "auto" is chosen on validation rows, and None is the usual value. Types are in `models.pyi`, which
`tools/python_stubs.py` writes.

>>> import fedgrid as fg
>>> fg.Forest(trees=20)
Forest(trees=20)
"""

from __future__ import annotations

from ._kinds import kinds, made
from ._model import Model

#: The keys that linear models have in common stand behind those that are a model's own.
_LAST = ("", "ridge", "lasso", "intercept")


__all__ = ["Model"]
for _kind in kinds("ModelKeys"):
    _keys = sorted(_kind.keys, key=lambda key: _LAST.index(key.name) if key.name in _LAST else 0)
    _parameters = [(key.parameter(positional=True), key.about) for key in _keys]
    globals()[_kind.class_name] = made(Model, _kind, _parameters, module=__name__)
    __all__.append(_kind.class_name)
