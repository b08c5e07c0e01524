"""The kinds of methods and models with their keys, as the schema of experiment files has them, and a class for
each kind."""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from . import _fedgrid as native

SCHEMA: dict[str, Any] = json.loads(native.schema())
TEXT = {"type": "string"}
_TYPES = {"number": "float", "integer": "int", "boolean": "bool", "string": "str", "object": "Mapping[str, Any]"}


@dataclass(frozen=True)
class Key:
    """A key of an experiment file, which is a parameter here."""

    name: str
    about: str
    #: Its type as type hints write it.
    hint: str
    #: None where it may be left open.
    default: Any = None
    lists_names: bool = False

    def parameter(self, positional: bool = False) -> inspect.Parameter:
        """The parameter of a class; None stands for the default."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if positional else inspect.Parameter.KEYWORD_ONLY
        hint = self.hint if self.hint == "Any" else f"{self.hint} | None"
        return inspect.Parameter(self.name, kind, default=self.default, annotation=hint)


@dataclass(frozen=True)
class Kind:
    """A kind of method or model."""

    name: str
    about: str
    keys: tuple[Key, ...]

    @property
    def class_name(self) -> str:
        """fine-tuned is FineTuned."""
        return "".join(word.capitalize() for word in self.name.split("-"))


def kinds(section: str) -> list[Kind]:
    """All kinds that a section of experiment files may name."""
    found = []
    for variant in SCHEMA["$defs"][section]["oneOf"]:
        properties = dict(variant["properties"])
        name = properties.pop("kind")["const"]
        found.append(Kind(name, variant["description"], tuple(key(*item) for item in properties.items())))
    return found


def key(name: str, schema: Mapping[str, Any]) -> Key:
    """A key from its schema."""
    default = schema.get("default")
    # A list that all objects share must not change.
    default = tuple(default) if isinstance(default, list) else default
    lists_names = schema.get("items") == TEXT
    return Key(name, " ".join(schema["description"].split()), _hint(schema), default, lists_names)


def _hint(schema: Mapping[str, Any]) -> str:
    found = dict.fromkeys(_alternatives(schema))
    words = [part for part in found if part.startswith('"')]
    types = [part for part in found if part not in words]
    return " | ".join([*types, f"Literal[{', '.join(words)}]"] if words else types)


def _alternatives(schema: Mapping[str, Any]) -> list[str]:
    if "$ref" in schema:
        return _alternatives(SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]])
    if several := schema.get("anyOf") or schema.get("oneOf"):
        return [part for one in several for part in _alternatives(one)]
    if words := [schema["const"]] if "const" in schema else schema.get("enum"):
        return [json.dumps(word) for word in words]
    names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    if "array" in names:
        # Nodes may be named by any value.
        inside = schema["items"]
        return ["Sequence[Any]" if inside == TEXT else f"Sequence[{_hint(inside)}]"]
    return [_TYPES[name] for name in names if name != "null"]


def made(
    base: type,
    kind: Kind,
    parameters: Iterable[tuple[inspect.Parameter, str]],
    *,
    module: str,
    name: str | None = None,
    notes: str = "",
    gone: Mapping[str, str] | None = None,
) -> type:
    """The class of a kind: its parameters with what they mean, notes after its first sentence, and what to
    say of keywords that are gone."""
    listed = list(parameters)
    name = name or kind.class_name
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([own, *(one for one, _ in listed)], return_annotation="None")
    about = "\n".join(_listed(one, meaning) for one, meaning in listed)
    parts = [kind.about, textwrap.dedent(notes).strip(), f"Parameters\n----------\n{about}" if about else ""]
    text = "\n\n".join(part for part in parts if part)
    init = _init(name, signature, gone or {})
    init.__module__, init.__qualname__ = module, f"{name}.__init__"
    return type(name, (base,), {"__init__": init, "__doc__": text, "__module__": module, "kind": kind.name})


def _listed(parameter: inspect.Parameter, meaning: str) -> str:
    usual = "" if parameter.default is None else f", default {parameter.default!r}"
    hint = str(parameter.annotation).removesuffix(" | None")
    return f"{parameter.name} : {hint}{usual}\n{textwrap.indent(textwrap.fill(meaning, 96), '    ')}"


def _init(name: str, signature: inspect.Signature, gone: Mapping[str, str]) -> Callable[..., None]:
    def __init__(self: Any, *args: Any, **keywords: Any) -> None:
        for old in gone.keys() & keywords.keys():
            raise TypeError(gone[old])
        try:
            bound = signature.bind(self, *args, **keywords)
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        bound.apply_defaults()
        del bound.arguments["self"]
        self.__dict__.update(bound.arguments)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__
