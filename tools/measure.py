#!/usr/bin/env python3
"""Counts what the tree promises to keep small: production lines, comments that give reasons, names used twice.

    tools/measure.py                 # a table per crate, and the type names that are used twice or more
    tools/measure.py --per FOLDER    # the same for each folder below one, such as crates/fedgrid/src

Production is what is neither test nor comment nor blank. A why-comment is a line of `//` inside code (`///` and
`//!` are documentation). A type name is counted once for every `struct`, `enum`, `trait` or `type` of that name.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TYPE = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? )?(?:struct|enum|trait|type) ([A-Z]\w*)")


@dataclass
class Count:
    files: int = 0
    production: int = 0
    why: int = 0
    documented: int = 0
    #: Where each type name is declared.
    names: list[tuple[str, str]] = field(default_factory=list)

    def add(self, path: Path) -> None:
        self.files += 1
        for line in without_tests(path.read_text()):
            text = line.strip()
            if text.startswith(("///", "//!")):
                self.documented += 1
            elif text.startswith("//"):
                self.why += 1
            elif text:
                self.production += 1
                # Associated types of an implementation are indented and are no declarations.
                if (found := TYPE.match(line)) and not (line.startswith(" ") and text.startswith("type ")):
                    self.names.append((found[1], str(path.relative_to(ROOT))))


def without_tests(text: str) -> Iterator[str]:
    """The lines of a file but those of items under `#[cfg(test)]`."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.strip() != "#[cfg(test)]":
            yield line
            continue
        depth, begun = 0, False
        for inside in lines:
            depth += inside.count("{") - inside.count("}")
            begun = begun or "{" in inside
            if depth == 0 and (begun or inside.rstrip().endswith(";")):
                break


def sources(folder: Path) -> Iterator[Path]:
    """The files that are production code; a `tests.rs` and the reference of models are compiled for tests only."""
    for path in sorted(folder.rglob("*.rs")):
        if path.name != "tests.rs" and path != ROOT / "crates/fedgrid/src/model/reference.rs":
            yield path


def row(name: str, count: Count) -> str:
    per_hundred = 100 * count.why / max(count.production, 1)
    return f"{name:28} {count.files:5} {count.production:7} {count.documented:7} {count.why:6} {per_hundred:6.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--per", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    if given.per:
        folders = sorted(path for path in (ROOT / given.per).iterdir() if path.is_dir())
    else:
        folders = sorted(ROOT.glob("crates/*/src")) + [ROOT / "python/src"]
    print(f"{'':28} {'files':>5} {'lines':>7} {'docs':>7} {'why':>6} {'why/100':>6}")
    everything = Count()
    for folder in folders:
        count = Count()
        for path in sources(folder):
            count.add(path)
            everything.add(path)
        name = folder.relative_to(ROOT)
        print(row(str(name.parent if name.name == "src" else name), count))
    print(row("together", everything))

    times = Counter(name for name, _ in everything.names)
    twice = {name: count for name, count in times.items() if count > 1}
    print(f"\ntype names: {len(times)}, used twice or more: {len(twice)} ({100 * len(twice) / max(len(times), 1):.1f} %)")
    for name in sorted(twice, key=lambda name: (-twice[name], name)):
        print(f"  {name}: " + ", ".join(path for other, path in everything.names if other == name))


if __name__ == "__main__":
    main()
