#!/usr/bin/env python3
"""Makes the documentation site: lays the pages out, writes those that are made of something else, runs Sphinx, and looks for
links that lead nowhere in what came out.

    .venv-site/bin/python website/build.py target/site [target/release/fedgrid]
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import formulas
import links
import python_api
from pages import INDEX, ROOT, WITH_FORMULAS, all_pages, datasheets, name_in_site, sections


def main() -> int:
    out = Path(sys.argv[1]).resolve()
    command = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    source, site = out / "source", out / "html"
    for folder in (source, site):
        shutil.rmtree(folder, ignore_errors=True)
    source.mkdir(parents=True)
    lay_out(source, command)
    call = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-c", str(source), str(source), str(site)]
    shutil.copy(Path(__file__).with_name("conf.py"), source)
    shutil.copytree(Path(__file__).with_name("theme"), source / "theme")
    if subprocess.run(call, check=False).returncode:
        return 1
    dead = dead_links(site)
    for sentence in dead:
        print(sentence, file=sys.stderr)
    print(f"{len(list(site.rglob('*.html')))} pages in {os.path.relpath(site)}, {len(dead)} dead links")
    return 1 if dead else 0


def lay_out(source: Path, command: Path | None) -> None:
    """All pages with links as they are in the site, and the files that these lead to."""
    made = {
        "made/python-api.md": python_api.page(),
        "made/glossary.md": glossary(),
        "made/commands.md": commands(command),
    }
    for page in all_pages():
        text = made[page] if page in made else (ROOT / page).read_text(encoding="utf-8")
        # What is made has links as pages of docs/ have.
        home = ROOT / ("docs" if page in made else Path(page).parent)
        name = name_in_site(page)
        if page in WITH_FORMULAS:
            text = formulas.with_mathml(text)
        text = with_links(text, home, name, source)
        if page == INDEX:
            text += contents()
        if page in datasheets():
            text = "---\norphan: true\n---\n" + text
        path = source / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def with_links(text: str, home: Path, name: str, source: Path) -> str:
    """The page with each link led to its place in the site. What is no page is copied there; a folder becomes its name."""
    places = {ROOT / page: name_in_site(page) for page in all_pages()}
    places |= {ROOT / "README.md": "index", ROOT / "docs" / "python-api.md": "python-api"}
    places |= {ROOT / "docs" / "glossary.md": "glossary", ROOT / "docs" / "commands.md": "commands"}

    def led(found: re.Match[str]) -> str:
        label, target = found[1], found[2]
        file, _, place = target.partition("#")
        if target.startswith(links.ELSEWHERE) or not file:
            return found[0]
        path = (home / file).resolve()
        behind = f"#{place}" if place else ""
        if path in places:
            return f"{label}({os.path.relpath(places[path], Path(name).parent)}.md{behind})"
        if path.is_dir():
            return f"{label.removeprefix('[').removesuffix(']')} (`{path.relative_to(ROOT)}/` in the repository)"
        copied = source / "files" / path.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copied)
        return f"{label}({os.path.relpath(copied, (source / name).parent)})"

    lines = text.split("\n")
    for number, _ in links.prose(text):
        lines[number - 1] = links.LINK.sub(led, lines[number - 1])
    return "\n".join(lines)


def contents() -> str:
    """The headings of the sidebar, as Sphinx reads them."""
    parts = []
    for title, pages in sections().items():
        names = "\n".join(name_in_site(page) for page in pages)
        parts.append(f"\n```{{toctree}}\n:caption: {title}\n:hidden:\n:maxdepth: 1\n\n{names}\n```\n")
    return "".join(parts)


def glossary() -> str:
    """The glossary of ARCHITECTURE.md as a page."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    body = text.split("## Glossary\n", 1)[1].split("\n## ", 1)[0]
    return "# Glossary\n" + re.sub(r"^\*\*(.+)\*\*$", r"## \1", body, flags=re.MULTILINE)


def commands(command: Path | None) -> str:
    """The help of every command, as the command itself prints it."""
    head = "# Commands\n\n"
    if command is None or not command.exists():
        return head + "The command was not built when this site was made; `fedgrid --help` says what stands here.\n"
    parts = [head + "What `--help` prints.\n"]
    for words in every_command(command):
        title = " ".join(["fedgrid", *words])
        shown = said(command, *words, "--help").rstrip()
        parts.append(f"## `{title}`\n\n```text\n{shown}\n```\n")
    return "\n".join(parts)


def every_command(command: Path, *above: str) -> list[list[str]]:
    """The commands below one, as its help lists them, and those below these."""
    found = [list(above)] if above else []
    listed = re.search(r"^Commands:\n((?: {2,}\S.*\n|\n)+)", said(command, *above, "--help"), re.MULTILINE)
    for line in (listed[1] if listed else "").split("\n"):
        name = re.match(r"  (\w[\w-]*)", line)
        if name and name[1] != "help":
            found += every_command(command, *above, name[1])
    return found


def said(command: Path, *arguments: str) -> str:
    return subprocess.run([command, *arguments], capture_output=True, text=True, check=True).stdout


class _Page(HTMLParser):
    """The targets of a page of HTML, and the places in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name == "id":
                self.places.add(value)
            elif value and ((tag, name) in {("a", "href"), ("link", "href"), ("img", "src"), ("script", "src")}):
                self.targets.append(value)


def dead_links(site: Path) -> list[str]:
    """Targets within the site that are not there, and what the site would load from elsewhere."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    wrong = []
    for path, page in pages.items():
        for target in page.targets:
            if target.startswith((*links.ELSEWHERE, "data:", "javascript:")):
                continue
            file, _, place = target.partition("#")
            file = unquote(file.partition("?")[0])
            to = (path.parent / file).resolve() if file else path
            if not to.exists():
                wrong.append(f"{path.relative_to(site)}: {target} is not there")
            elif place and to in pages and unquote(place) not in pages[to].places:
                wrong.append(f"{path.relative_to(site)}: {target} has no such place")
    return sorted(set(wrong))


if __name__ == "__main__":
    sys.exit(main())
