"""Blocks of code on pages, with what pages say of them.

A comment before a block says why it cannot run, or what is to be there before it does, or by which words a
long run becomes a short one; readers do not see it:

    <!-- not run: needs two machines -->
    <!-- before: cp readings.csv monday.csv -->
    <!-- shorter: --seeds 10 => --seeds 2 -->
    <!-- shows: fedgrid fit examples/houses/houses.toml -->

The last stands before a block of text: the table of methods that the command prints.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from links import FENCE

SAID = re.compile(r"\s*<!-- (not run|before|shorter|shows): (.+?) -->\s*$")


class Block(NamedTuple):
    """A block of code."""

    line: int
    language: str
    code: str
    #: Why it is not run, if it is not.
    not_run: str | None
    #: Commands that make what it needs.
    before: list[str]
    #: Its code with the words of a short run.
    short: str
    #: The command whose table it shows.
    shows: str | None


def blocks(path: Path) -> list[Block]:
    """All blocks of a page with a language."""
    found: list[Block] = []
    opened: tuple[int, str, str, str] | None = None
    inside: list[str] = []
    said: list[tuple[str, str]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if opened is not None:
            if line.strip() == opened[3]:
                reasons = [text for word, text in said if word == "not run"]
                before = [text for word, text in said if word == "before"]
                code = "\n".join(text.removeprefix(opened[2]) for text in inside) + "\n"
                short = shorter(code, [text for word, text in said if word == "shorter"], f"{path.name}:{opened[0]}")
                shows = [text for word, text in said if word == "shows"]
                reason, shown = (reasons[0] if reasons else None), (shows[0] if shows else None)
                found.append(Block(opened[0], opened[1], code, reason, before, short, shown))
                opened, inside, said = None, [], []
            else:
                inside.append(line)
        elif fence := FENCE.match(line.lstrip()):
            margin = line[: len(line) - len(line.lstrip())]
            opened = (number, line.strip().lstrip("`~").strip(), margin, fence[1])
        elif comment := SAID.match(line):
            said.append((comment[1], comment[2]))
        elif line.strip():
            # A comment counts for the block that follows it, and for no later one.
            said = []
    return [block for block in found if block.language]


def shorter(code: str, words: list[str], where: str) -> str:
    """The code with some words in the place of others, which must be there."""
    for pair in words:
        long, short = pair.split(" => ")
        if long not in code:
            raise ValueError(f"{where}: no '{long}' to shorten")
        code = code.replace(long, short)
    return code
