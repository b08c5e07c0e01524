#!/usr/bin/env python3
"""Takes the pictures of the gallery: a section of the report of each worked example, in headless Chromium.

    tools/gallery_pictures.py target/release/fedgrid [NAME …]

The browser is CHROMIUM, by default chromium. Pictures are examples/NAME/report.png.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: The section of the report that a page shows, and its height.
SHOWN = {
    "colorado": ("map", 900),
    "houses": ("map", 900),
    "pupils": ("coefficients", 1000),
    "hospitals": ("metrics", 1150),
    "shops": ("comparison", 560),
    "forecast": ("origins", 560),
    "households": ("helps", 850),
    "sites": ("gains", 400),
}
WIDTH = 960
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run", "--hide-scrollbars"]  # fmt: skip


def main() -> int:
    command = Path(sys.argv[1]).resolve()
    for name in sys.argv[2:] or SHOWN:
        section, height = SHOWN[name]
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder, "page.html")
            page.write_text(only(report(command, name, Path(folder)), section), encoding="utf-8")
            out = ROOT / "examples" / name / "report.png"
            call = [os.environ.get("CHROMIUM", "chromium"), *FLAGS, f"--user-data-dir={folder}/profile",
                    f"--window-size={WIDTH},{height}", f"--screenshot={out}", page.as_uri()]  # fmt: skip
            subprocess.run(call, check=True, capture_output=True)
            print(out.relative_to(ROOT), out.stat().st_size // 1024, "kB")
    return 0


def report(command: Path, name: str, folder: Path) -> str:
    """The report of an example: of the federation that of one site."""
    example = ROOT / "examples" / name
    run = folder / "run"
    if name == "sites":
        script = (
            f"cp {example}/* . && for s in ann ben cleo; do $0 federation describe experiment.toml --data $s.csv --out $s.json --yes;"
            " done && $0 federation new experiment.toml --sites sites.toml --summaries ann.json,ben.json,cleo.json --out home &&"
            " for s in ann ben cleo; do $0 federation join home/kits/$s --data $s.csv --out run-$s & done; wait; mv run-ann run"
        )
        subprocess.run(["bash", "-ec", script, str(command)], check=True, capture_output=True, cwd=folder)
    else:
        call = [command, "fit", example / f"{name}.toml", "--quiet", "--out", run]
        subprocess.run(call, check=True, capture_output=True)
    return (run / "report.html").read_text(encoding="utf-8")


def only(page: str, section: str) -> str:
    """The report with one of its sections alone."""
    assert f'aria-labelledby="{section}"' in page, f"the report has no section {section}"
    hidden = f'main > :not(section[aria-labelledby="{section}"]) {{ display: none !important; }} main {{ padding: 1.5rem !important; }}'
    return page.replace("</head>", f"<style>{hidden} section {{ margin-top: 0 !important; }}</style></head>", 1)


if __name__ == "__main__":
    sys.exit(main())
