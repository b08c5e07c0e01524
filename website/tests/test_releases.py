"""What belongs together in a release."""

from __future__ import annotations

import re
import sys
import tomllib
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pages import ROOT  # noqa: E402

CRATES = ["fedgrid", "fedgrid-lab", "fedgrid-zenoh", "fedgrid-cli"]


class Releases(unittest.TestCase):
    """Versions, and files that leave the repository with their crate."""

    def test_all_say_the_same_version(self) -> None:
        workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
        version = workspace["package"]["version"]
        for crate in CRATES:
            self.assertEqual(workspace["dependencies"][crate]["version"], version, crate)
        for file, pattern in [
            ("CITATION.cff", r"^version: (.+)$"),
            ("packaging/conda/recipe.yaml", r'^  version: "(.+)"$'),
        ]:
            found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
            assert found, file
            self.assertEqual(found[1], version, file)

    def test_crates_are_published_and_the_wheel_is_not_a_crate(self) -> None:
        for crate in CRATES:
            package = tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text(encoding="utf-8"))["package"]
            self.assertNotIn("publish", package, crate)
            self.assertTrue(package["description"] and package["categories"], crate)
        wheel = tomllib.loads((ROOT / "python" / "Cargo.toml").read_text(encoding="utf-8"))["package"]
        self.assertIs(wheel["publish"], False)

    def test_what_a_crate_includes_lies_in_it(self) -> None:
        """A file from outside is not in the package: it builds here and nowhere else."""
        for crate in CRATES:
            home = (ROOT / "crates" / crate).resolve()
            for source in home.glob("src/**/*.rs"):
                code = source.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
                for found in re.finditer(r'include_(?:str|bytes)!\((?:concat!\()?"([^"]+)"', code):
                    named = (source.parent / found[1]).resolve()
                    self.assertTrue(named.is_relative_to(home) and named.exists(), f"{source}: {found[1]}")

    def test_the_examples_are_the_files_of_the_demo(self) -> None:
        for name in ("colorado.toml", "readings.csv", "stations.csv"):
            ours, theirs = ROOT / "examples" / "colorado" / name, ROOT / "crates" / "fedgrid-cli" / "demo" / name
            self.assertEqual(ours.read_bytes(), theirs.read_bytes(), name)


if __name__ == "__main__":
    unittest.main()
