"""How long `import fedgrid` takes over `import numpy`: the smallest of several fresh processes."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import time, numpy
begun = time.perf_counter()
import fedgrid
print(time.perf_counter() - begun)
"""


def main() -> None:
    tries = [
        float(subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True).stdout)
        for _ in range(7)
    ]
    print(f"import fedgrid: {min(tries):.3f} s after numpy (goal 0.2)")


if __name__ == "__main__":
    main()
