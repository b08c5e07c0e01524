"""Links of Markdown pages, and which of them lead nowhere."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Iterator, NamedTuple

#: A link or an image: `[text](target)`. Targets with blanks are not used here.
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\[\]]*\])*\])\(([^()\s]+)\)")
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
ELSEWHERE = ("http://", "https://", "mailto:")


class Link(NamedTuple):
    """A link with its place."""

    line: int
    target: str


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines outside of code blocks with their numbers; code in a line is blanked."""
    closing = None
    for number, line in enumerate(text.split("\n"), 1):
        fence = FENCE.match(line.lstrip()) if closing is None else None
        if fence:
            closing = fence[1]
        elif closing is not None:
            if line.strip() == closing:
                closing = None
        else:
            yield number, re.sub(r"(`+)(?:(?!\1).)+\1", lambda code: "`" * len(code[0]), line)


def links(text: str) -> list[Link]:
    """All links of a page."""
    return [Link(number, found[2]) for number, line in prose(text) for found in LINK.finditer(line)]


def anchor(heading: str) -> str:
    """The anchor that a heading gets, as GitHub and MyST make it."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", heading.strip().lower().replace("`", "")).replace(" ", "-")


@cache
def anchors(path: Path) -> set[str]:
    """All anchors of a page; a heading that is there twice is numbered."""
    found: dict[str, int] = {}
    closing = None
    for line in path.read_text(encoding="utf-8").split("\n"):
        if fence := FENCE.match(line):
            closing = None if closing == fence[1] else closing or fence[1]
        elif closing is None and (heading := re.match(r"#{1,6} +(.*)", line)):
            name = anchor(heading[1])
            found[name] = found.get(name, -1) + 1
    numbered = {f"{name}-{k}" for name, count in found.items() for k in range(1, count + 1)}
    return set(found) | numbered


def dead(path: Path) -> list[str]:
    """What is wrong with the links of a page, a sentence each. Addresses elsewhere are not asked."""
    wrong = []
    for link in links(path.read_text(encoding="utf-8")):
        if link.target.startswith(ELSEWHERE):
            continue
        name, _, place = link.target.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists():
            wrong.append(f"{path}:{link.line}: there is no {name}")
        elif place and target.suffix == ".md" and place not in anchors(target):
            wrong.append(f"{path}:{link.line}: {target.name} has no heading #{place}")
    return wrong
