"""The page of the Python classes and functions, from docstrings and stubs: nothing is imported, so nothing need be built."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Iterator

from pages import ROOT

PACKAGE = ROOT / "python" / "fedgrid"

#: Headings with the modules whose public names stand below them, and how their users write these names.
MODULES: list[tuple[str, list[tuple[str, str]]]] = [
    ("Networks", [("_network.py", "fg.")]),
    ("Methods", [("_method.py", "fg."), ("methods.pyi", "fg."), ("_learn.py", "fg.")]),
    ("Models", [("models.pyi", "fg."), ("adapters.py", "fg.")]),
    ("Runs", [("run.py", "fg."), ("_predictions.py", ""), ("comparison.py", "fg."), ("_sweep.py", "fg.")]),
    ("The papers' figures", [("_figures.py", "fg.")]),
    ("scikit-learn", [("sklearn.py", "fg.")]),
    ("PyTorch and Keras", [("torch.py", "fg."), ("keras.py", "fg.")]),
    ("Federations", [("federation.py", "fg.federation.")]),
    ("Callbacks", [("callbacks.py", "fg.callbacks.")]),
]

#: What is public in a module beside the names that the package exports: they are reached by the module's own name.
OF_MODULES = {
    "federation.py": {"join", "new", "describe", "check", "status", "stop", "load", "SiteRun", "TryLater"},
    "callbacks.py": {"TensorBoard", "MLflow", "WandB"},
    "_method.py": {"Method"},
    "_learn.py": {"learn_network"},
    "_predictions.py": {"Predictions"},
    "torch.py": {"TorchModel"},
    "keras.py": {"KerasModel"},
}

Definition = ast.ClassDef | ast.FunctionDef


def page() -> str:
    """The page as Markdown."""
    parts = [
        "# Python classes and functions\n",
        "From the docstrings of the package; `import fedgrid as fg`. [The guide](python.md) has them at work, and\n"
        "[every key of an experiment file](keys.md) what the keys of methods and models mean.\n",
    ]
    exported = _exported()
    for title, files in MODULES:
        parts.append(f"## {title}\n")
        for name, prefix in files:
            module = ast.parse((PACKAGE / name).read_text(encoding="utf-8"))
            names = exported | OF_MODULES.get(name, set())
            parts += [_text(one, prefix) for one in _definitions(module) if one.name in names]
    return "\n".join(parts)


def _exported() -> set[str]:
    """The names in the `__all__` of the package, of its methods and of its models."""
    found: set[str] = set()
    for name in ("__init__.py", "methods.pyi", "models.pyi"):
        for node in ast.walk(ast.parse((PACKAGE / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                found |= set(ast.literal_eval(node.value))
    return found


def _definitions(parent: ast.Module | ast.ClassDef) -> Iterator[Definition]:
    for node in parent.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node


def _text(one: Definition, prefix: str) -> str:
    """A class with its constructor and public methods, or a function."""
    name = prefix + one.name
    if isinstance(one, ast.FunctionDef):
        return f"### `{name}`\n\n{_call(one, name)}\n{_said(one)}\n"
    inside = [node for node in _definitions(one) if isinstance(node, ast.FunctionDef)]
    made = next((node for node in inside if node.name == "__init__"), None)
    parts = [f"### `{name}`\n", _call(made, name) if made and _is_for_users(one, made) else "", _said(one), ""]
    for node in inside:
        if not node.name.startswith("_") and ast.get_docstring(node):
            # An overload is the same name with a body of its own further down.
            parts.append(f"#### `{one.name}.{node.name}`\n\n{_call(node, node.name)}\n{_said(node)}\n")
    return "\n".join(parts)


def _is_for_users(one: ast.ClassDef, made: ast.FunctionDef) -> bool:
    """Whether users call the constructor: those of results take what the package has prepared."""
    return not any(kind in ast.unparse(made.args) for kind in ("Prepared", "native.", "Work", "Outcome"))


def _call(one: ast.FunctionDef, name: str) -> str:
    """How it is called, one argument a line where it is long."""
    is_property = any("property" in ast.unparse(by) for by in one.decorator_list)
    back = f" -> {ast.unparse(one.returns)}" if one.returns and name[0].islower() and one.name != "__init__" else ""
    if is_property:
        return f"```python\n{name}{back.replace(' -> ', ': ')}\n```\n"
    words = _arguments(one.args)
    if words and words[0] in ("self", "cls"):
        words = words[1:]
    line = f"{name}({', '.join(words)}){back}"
    if len(line) > 88:
        line = f"{name}(\n" + "".join(f"    {word},\n" for word in words) + f"){back}"
    return f"```python\n{line}\n```\n"


def _arguments(given: ast.arguments) -> list[str]:
    words = []
    plain = given.posonlyargs + given.args
    defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    words += [_argument(one, default) for one, default in zip(plain, defaults, strict=True)]
    if given.vararg:
        words.append("*" + given.vararg.arg)
    elif given.kwonlyargs:
        words.append("*")
    words += [_argument(one, default) for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return words + (["**" + given.kwarg.arg] if given.kwarg else [])


def _argument(one: ast.arg, default: ast.expr | None) -> str:
    kind = f": {ast.unparse(one.annotation)}" if one.annotation and ast.unparse(one.annotation) != "Any" else ""
    if default is None:
        return one.arg + kind
    return f"{one.arg}{kind}{' = ' if kind else '='}{ast.unparse(default)}"


def _said(one: Definition) -> str:
    """The docstring; an example in it becomes a block of code, and a list of parameters one of definitions."""
    lines, is_code = [], False
    for line in _listed(inspect.cleandoc(ast.get_docstring(one) or "")).split("\n"):
        if line.lstrip().startswith(">>>") and not is_code:
            lines, is_code = [*lines, "```pycon"], True
        elif is_code and not line.strip():
            lines, is_code = [*lines, "```"], False
        lines.append(line.strip() if is_code and line.lstrip().startswith((">>>", "...")) else line)
    return "\n".join([*lines, *(["```"] if is_code else [])]) + "\n"


def _listed(text: str) -> str:
    """A docstring whose section "Parameters" is a list of definitions."""
    before, line, after = text.partition("Parameters\n----------\n")
    if not line:
        return text
    section, gap, rest = after.partition("\n\n")
    entries = re.split(r"\n(?=\S)", section)
    listed = []
    for entry in entries:
        name, _, said = entry.partition("\n")
        names = ", ".join(f"`{one}`" for one in name.split(", "))
        listed.append(f"{names}\n: " + " ".join(said.split()) + "\n")
    return f"{before}**Parameters**\n\n" + "\n".join(listed) + gap + rest
