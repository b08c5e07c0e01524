"""What the documents say, run: docstrings, the guide and the notebook."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import json
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

import fedgrid as fg

MODULES = [name for _, name, _ in pkgutil.iter_modules(fg.__path__) if not name.startswith("_fedgrid")]
NEEDS = {"torch": "torch", "keras": "keras"}


@pytest.mark.parametrize("name", ["", *MODULES])
def test_docstrings(name: str) -> None:
    if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"{name} is not installed")
    module = importlib.import_module(f"fedgrid.{name}".rstrip("."))
    assert doctest.testmod(module).failed == 0


def test_the_guide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) > 8
    for block in blocks:
        needed = re.match(r"# needs: (\w+)", block)
        if needed and importlib.util.find_spec(needed[1]) is None:
            print(f"a block of the guide is skipped: {needed[1]} is not installed")
            continue
        exec(compile(block, "docs/python.md", "exec"), names)


def _others() -> list[tuple[str, int, str]]:
    """Blocks of Python on all other pages, with the line that they begin at, but for those whose page says why they cannot run."""
    import sys

    sys.path.insert(0, str(ROOT / "website"))
    from blocks import blocks

    pages = [ROOT / "README.md", ROOT / "python" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    pages += sorted(ROOT.glob("examples/*/README.md"))
    return [
        (str(page.relative_to(ROOT)), block.line, block.short)
        for page in pages if page.name != "python.md"
        for block in blocks(page) if block.language == "python" and block.not_run is None
    ]  # fmt: skip


@pytest.mark.parametrize(("page", "line", "code"), _others())
def test_blocks_of_other_pages(
    page: str, line: int, code: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    needed = re.match(r"# needs: (\w+)", code)
    if needed and importlib.util.find_spec(needed[1]) is None:
        pytest.skip(f"{needed[1]} is not installed")
    # What they write is not to be left in the repository.
    for folder in ("crates", "examples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, f"{page}:{line}", "exec"), {})


NOTEBOOKS = sorted(ROOT.glob("examples/*/*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebooks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "the notebook is kept without outputs"
            shown = _shown("".join(cell["source"]), path.name, names)
            assert shown is None or not hasattr(shown, "_repr_html_") or shown._repr_html_()


def _shown(cell: str, where: str, names: dict[str, Any]) -> Any:
    """Runs a cell; what its last line shows, if that is an expression."""
    parsed = ast.parse(cell)
    last = parsed.body.pop() if isinstance(parsed.body[-1], ast.Expr) else None
    exec(compile(parsed, where, "exec"), names)
    return eval(compile(ast.Expression(last.value), where, "eval"), names) if isinstance(last, ast.Expr) else None


def test_figures_and_pages_of_a_run(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    rows = {k: ([[0.0], [1.0], [2.0]], [0.0, 1.5 + k, 2.0]) for k in range(4)}
    run = fg.FedRelax(alpha=0.1).fit(rows, network=fg.Network.shape("ring", 4), folds=3)
    assert "alpha=0.1" in run._repr_html_()
    figure = run.plot()
    figure.savefig(tmp_path / "run.png")
    assert len(figure.axes) == 3 and (tmp_path / "run.png").stat().st_size > 1000
    assert run.compare().verdict in run._repr_html_().replace("&#x27;", "'")


def test_trackers_are_imported_when_they_are_made() -> None:
    import sys
    import types

    logged: list[Any] = []
    fake: Any = types.ModuleType("mlflow")
    fake.log_metrics = lambda numbers, step: logged.append((step, numbers))
    fake.log_params = logged.append
    sys.modules["mlflow"] = fake
    try:
        rows = {k: ([[0.0], [1.0], [2.0]], [0.0, 1.5 + k, 2.0]) for k in range(4)}
        method = fg.FedRelax(alpha=0.1, model=fg.Tree(max_depth=1), rounds=3, tolerance=0.0)
        method.fit(rows, network=fg.Network.shape("ring", 4), callbacks=[fg.callbacks.MLflow()])
    finally:
        del sys.modules["mlflow"]
    assert [step for step, _ in logged[:3]] == [1, 2, 3] and logged[3]["method"] == "fedrelax"
