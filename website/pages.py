"""The pages of the site: where each comes from, and under which heading it stands."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: Headings of the sidebar with their pages, as files of the repository. Those below `made/` are written by the build.
SECTIONS: dict[str, list[str]] = {
    "Start": [
        "docs/start-table.md",
        "docs/start-research.md",
        "docs/start-sites.md",
        "docs/install.md",
    ],
    "Gallery": ["docs/gallery.md"],
    "Guides": [
        "docs/guide.md",
        "docs/python.md",
        "r/README.md",
        "docs/networks.md",
        "docs/verdict.md",
        "docs/predicting.md",
        "docs/uncertainty.md",
        "docs/serving.md",
        "docs/updating.md",
        "docs/onnx.md",
        "docs/research.md",
    ],
    "Methods": ["docs/mixed-models.md", "docs/penalties.md", "docs/baselines.md", "docs/mathematics.md"],
    "Sites": ["docs/federation-guide.md", "docs/privacy.md", "docs/federation.md"],
    "Reference": [
        "docs/keys.md",
        "made/commands.md",
        "made/python-api.md",
        "docs/models-json.md",
        "made/glossary.md",
    ],
    "Evidence": ["docs/performance.md", "docs/papers.md"],
    "Project": [
        "CHANGELOG.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/releasing.md",
        "SECURITY.md",
        "CODE_OF_CONDUCT.md",
    ],
}

#: The first page.
INDEX = "docs/index.md"

#: Pages in which a block of text with mathematical signs is a formula.
WITH_FORMULAS = {"docs/mathematics.md", "docs/mixed-models.md", "docs/penalties.md", "docs/uncertainty.md"}


def gallery() -> list[str]:
    """The pages of the worked examples."""
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("examples/*/README.md"))


def datasheets() -> list[str]:
    """Where the data of examples are from: pages that examples link to, and no sidebar names."""
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("examples/*/DATASHEET.md"))


def sections() -> dict[str, list[str]]:
    """Headings with the pages that there are; the gallery has those of the examples, too."""
    found = {title: [page for page in pages if is_there(page)] for title, pages in SECTIONS.items()}
    found["Gallery"] += gallery()
    return {title: pages for title, pages in found.items() if pages}


def is_there(page: str) -> bool:
    """Whether a page is written by the build, or a file of the repository."""
    return page.startswith("made/") or (ROOT / page).is_file()


def name_in_site(page: str) -> str:
    """Where a page stands in the site, without its ending: flat, but for the examples, which have pictures of their own."""
    if page == INDEX:
        return "index"
    if page.startswith("examples/"):
        return "gallery/" + Path(page).parent.name + ("-data" if page.endswith("DATASHEET.md") else "")
    if page == "r/README.md":
        return "r"
    return Path(page).stem.lower().replace("_", "-")


def all_pages() -> list[str]:
    """All pages of the site."""
    return [INDEX, *(page for pages in sections().values() for page in pages), *datasheets()]
