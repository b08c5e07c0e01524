"""What the pages say, tried: links lead somewhere, commands run, settings are ones that there are.

    python3 -m unittest discover website/tests          # FEDGRID names the command, by default the one in target/

Nothing but Python's own library is needed. Python blocks are run by python/tests/test_docs.py, where the wheel is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from blocks import Block, blocks  # noqa: E402
from formulas import is_formula, mathml  # noqa: E402
from links import dead  # noqa: E402
from pages import INDEX, ROOT, SECTIONS, all_pages, gallery  # noqa: E402

WRITTEN = sorted(
    {ROOT / "README.md", ROOT / "python" / "README.md"}
    | {ROOT / page for page in all_pages() if not page.startswith("made/")}
    | set((ROOT / "docs").glob("*.md"))
    | set(ROOT.glob("examples/*/*.md"))
    | set(ROOT.glob("r/*.md"))
)
#: What a block may take, in seconds, on a machine that is busy with other tests; it is seconds on an idle one.
PATIENCE = 300
COLORADO = ROOT / "examples" / "colorado"


def built_command() -> Path | None:
    named = os.environ.get("FEDGRID")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    found = [Path(named)] if named else [target / kind / "fedgrid" for kind in ("debug", "release", "demo")]
    return next((path for path in found if path.is_file()), None)


COMMAND = built_command()


class Pages(unittest.TestCase):
    """What needs no command."""

    def test_no_link_leads_nowhere(self) -> None:
        self.assertEqual([sentence for path in WRITTEN for sentence in dead(path)], [])

    def test_links_that_lead_nowhere_are_found(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder, "page.md")
            page.write_text("# A title\n[a](none.md) [b](#a-title) [c](#nowhere) `[d](code.md)`\n", encoding="utf-8")
            wrong = [sentence.split(": ", 1)[1] for sentence in dead(page)]
        self.assertEqual(wrong, ["there is no none.md", "page.md has no heading #nowhere"])

    def test_every_page_stands_in_the_sidebar(self) -> None:
        named = {INDEX, *(page for pages in SECTIONS.values() for page in pages), *gallery()}
        there = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
        self.assertEqual(there - named, set(), "pages that website/pages.py does not name")
        missing = [page for page in named if not page.startswith("made/") and not (ROOT / page).exists()]
        self.assertEqual(missing, [], "pages that website/pages.py names and that are not there")

    def test_formulas_become_mathml(self) -> None:
        drawn = mathml("h_i ← argmin L_i(h) + α Σ_j A_ij δ²      over a node\nx = √(y + 1)\n")
        self.assertIn("<msub><mi>h</mi><mrow><mi>i</mi></mrow></msub>", drawn)
        self.assertIn("<munder><mo>∑</mo><mrow><mi>j</mi></mrow></munder>", drawn)
        self.assertIn("<msup><mi>δ</mi><mrow><mn>2</mn></mrow></msup>", drawn)
        self.assertIn("<mtext>a</mtext>", drawn, "an article is no variable")
        self.assertIn('<mtd columnspan="2">', drawn)
        self.assertIn("<msqrt><mrow><mi>y</mi>", drawn)
        self.assertFalse(is_formula("$ fedgrid fit\nα = 3\n"))

    def test_json_and_toml_can_be_read(self) -> None:
        for path in WRITTEN:
            for block in blocks(path):
                with self.subTest(page=path.name, line=block.line):
                    if block.language == "json":
                        json.loads(block.code)
                    elif block.language == "toml":
                        tomllib.loads(block.code)


@unittest.skipIf(COMMAND is None, "the command is not built: cargo build, or name it in FEDGRID")
class Commands(unittest.TestCase):
    """What the command has to say of the pages."""

    def test_every_block_of_commands_runs(self) -> None:
        for path in WRITTEN:
            shell = [block for block in blocks(path) if block.language == "sh"]
            if any(block.not_run is None for block in shell):
                with self.subTest(page=str(path.relative_to(ROOT))):
                    self.run_page(path, shell)

    def run_page(self, path: Path, shell: list[Block]) -> None:
        """The blocks of a page one after the other in one folder, as a reader has it."""
        assert COMMAND is not None
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            bin_folder = set_up(folder, COMMAND)
            environment = {**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}", "HOME": name}
            for block in shell:
                if block.not_run is None:
                    script = "set -eu\n" + "\n".join([*block.before, block.short])
                    done = subprocess.run(
                        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True,
                        timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL,
                    )  # fmt: skip
                    # What to do about it is in CONTRIBUTING.md, "Pages".
                    where = f"{path.relative_to(ROOT)}:{block.line}: this block ended with an error (cannot it run? say so above it)"
                    self.assertEqual(done.returncode, 0, f"{where}\n{block.code}{done.stdout[-600:]}{done.stderr[-600:]}")

    def test_tables_that_pages_show_are_those_that_the_command_prints(self) -> None:
        """Errors on test rows, to two of a hundred: another version may find a little better models."""
        assert COMMAND is not None
        for path in WRITTEN:
            for block in blocks(path):
                if block.shows is not None:
                    with self.subTest(page=str(path.relative_to(ROOT)), line=block.line), tempfile.TemporaryDirectory() as name:
                        bin_folder = set_up(Path(name), COMMAND)
                        environment = {**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
                        call = ["bash", "-c", block.shows]
                        printed = subprocess.run(call, cwd=name, env=environment, capture_output=True, text=True, check=True).stdout
                        shown, found = errors(block.code), errors(printed)
                        self.assertGreater(len(shown), 3)
                        for method, error in shown.items():
                            self.assertAlmostEqual(found[method] / error, 1.0, delta=0.02, msg=method)

    def test_every_key_of_a_block_of_toml_is_known(self) -> None:
        assert COMMAND is not None
        schema = json.loads(said(COMMAND, "schema"))
        for path in WRITTEN:
            for block in blocks(path):
                is_experiment = block.language == "toml" and "# sites.toml" not in block.code and "[dependencies]" not in block.code
                if is_experiment and block.not_run is None:
                    unknown = unknown_keys(tomllib.loads(block.code), schema, schema)
                    self.assertEqual(unknown, [], f"{path.name}:{block.line}")

    def test_keys_that_are_not_known_are_found(self) -> None:
        assert COMMAND is not None
        schema = json.loads(said(COMMAND, "schema"))
        table = tomllib.loads("[data]\nfiel = 'x'\nnode = 'y'\n[method]\nalpa = 1\n")
        self.assertEqual(unknown_keys(table, schema, schema), ["data.fiel", "method.alpa"])

    def test_the_page_of_keys_is_that_of_the_schema(self) -> None:
        assert COMMAND is not None
        self.assertEqual((ROOT / "docs" / "keys.md").read_text(encoding="utf-8"), said(COMMAND, "schema", "--markdown"))

    def test_commands_that_pages_name_in_a_line_are_there(self) -> None:
        """`fedgrid network learn` in a sentence or a table: the command knows it."""
        assert COMMAND is not None
        asked: dict[tuple[str, ...], bool] = {}
        for path in WRITTEN:
            for found in re.finditer(r"`fedgrid ((?:[a-z]+ ?)+)", path.read_text(encoding="utf-8")):
                words = tuple(found[1].split()[:2])
                words = words if words[0] in ("federation", "network") else words[:1]
                if words not in asked:
                    call = [COMMAND, *words, "--help"]
                    asked[words] = subprocess.run(call, capture_output=True, check=False).returncode == 0
                self.assertTrue(asked[words], f"{path.name}: fedgrid {' '.join(words)}")


def set_up(folder: Path, command: Path) -> Path:
    """What pages take for granted: the repository's examples, the example's tables and its run; and the command."""
    bin_folder = folder / ".bin"
    bin_folder.mkdir()
    (bin_folder / "fedgrid").symlink_to(command.resolve())
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("runs", "*.ipynb"))
    (folder / "crates").symlink_to(ROOT / "crates")
    for table in ("readings.csv", "stations.csv"):
        shutil.copy(COLORADO / table, folder)
    shutil.copy(COLORADO / "colorado.toml", folder / "experiment.toml")
    rows = (COLORADO / "readings.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "new.csv").write_text("".join(rows[:200]), encoding="utf-8")
    call = [command, "fit", folder / "experiment.toml", "--quick", "--quiet", "--out", folder / "runs" / "colorado"]
    subprocess.run(call, check=True, capture_output=True)
    return bin_folder


def errors(table: str) -> dict[str, float]:
    """The error on test rows of each method of a printed table."""
    number = r"([0-9][0-9,]*(?:\.[0-9]+)?)"
    row = re.compile(rf"^(local|pooled|shrunk|mixed|network) +\S.*? {{2,}}{number} +{number}(?: .*)?$", re.MULTILINE)
    return {method: float(test.replace(",", "")) for method, _, test in row.findall(table)}


def said(command: Path, *arguments: str) -> str:
    return subprocess.run([command, *arguments], capture_output=True, text=True, check=True).stdout


def unknown_keys(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "") -> list[str]:
    """The keys of a table that no variant of its schema has."""
    if not isinstance(value, dict):
        return []
    variants = list(flat(schema, root))
    if any(not variant.get("properties") and variant.get("additionalProperties") not in (None, False) for variant in variants):
        # Names of the user's own, such as nodes and columns.
        return []
    found = []
    for key, inner in value.items():
        known = [variant["properties"][key] for variant in variants if key in variant.get("properties", {})]
        name = f"{at}.{key}".lstrip(".")
        if not known:
            found.append(name)
        else:
            per_variant = [unknown_keys(inner, one, root, name) for one in known]
            found += min(per_variant, key=len)
    return found


def flat(schema: Any, root: dict[str, Any]) -> Any:
    """A schema and all that it refers to or may be."""
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        part: Any = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            part = part[step]
        yield from flat(part, root)
    if "properties" in schema or "additionalProperties" in schema:
        yield schema
    for word in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(word, []):
            yield from flat(one, root)


if __name__ == "__main__":
    unittest.main()
