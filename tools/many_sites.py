#!/usr/bin/env python3
"""A federation of many sites on this machine, one process each over QUIC: time until all are there, rounds a second, memory.

    cargo build --release && python3 tools/many_sites.py --sites 100

The bundled network of weather stations is divided among the sites. Every agent answers at a port of its own, which costs it
a thread. Linux only: memory and threads are read from /proc.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fedgrid", type=Path, default=ROOT / "target/release/fedgrid", help="the command")
    parser.add_argument("--experiment", type=Path, default=ROOT / "examples/colorado/colorado.toml")
    parser.add_argument("--sites", type=int, default=100, help="how many processes, at most one for each node")
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--checkpoint-every", type=int, default=1, metavar="ROUNDS")
    parser.add_argument("--link", choices=["quic", "tls", "tcp"], default="quic")
    parser.add_argument("--patience", type=float, default=900.0, metavar="SECONDS", help="when to give up")
    return parser.parse_args()


def first_free(count: int) -> int:
    """The first of so many ports that nobody has."""
    for port in range(21_000, 60_000, count):
        with suppress(OSError):
            for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
                for place in range(count):
                    with socket.socket(socket.AF_INET, kind) as probe:
                        probe.bind(("127.0.0.1", port + place))
            return port
    sys.exit(f"no {count} ports in a row are free")


def rounds(port: int) -> int:
    """How many rounds an agent has done; none as long as it does not answer."""
    with suppress(OSError, ValueError):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5.0) as answer:
            status: dict[str, Any] = json.load(answer)
            return int(status["round"])
    return 0


def of_process(pid: int) -> tuple[float, float, int]:
    """Memory of a process in MB, once as all that it sees and once with shared pages divided, and its threads."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    shares = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    kilobytes = [int(text.split()[0]) for text in (lines["VmRSS"], shares["Pss"])]
    return kilobytes[0] * 1.024e-3, kilobytes[1] * 1.024e-3, int(lines["Threads"])


def processor_seconds(pids: list[int]) -> float:
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measured(given: argparse.Namespace, folder: Path, agents: list[subprocess.Popen[bytes]]) -> None:
    port = first_free(2 * given.sites)
    new = [
        str(given.fedgrid.resolve()), "federation", "new", str(given.experiment.resolve()),
        "--set", "method.kind=fedrelax", "--set", "method.alpha=3", "--set", "method.tolerance=0",
        "--set", f"method.rounds={given.rounds}", "--processes", str(given.sites), "--port", str(port),
        "--checkpoint-every", str(given.checkpoint_every), "--link", given.link, "--out", "home", "--json",
    ]  # fmt: skip
    made = json.loads(subprocess.run(new, cwd=folder, check=True, stdout=subprocess.PIPE).stdout)
    print(f"{made['nodes']} nodes at {given.sites} sites, {made['cut']} edges between sites, load {os.getloadavg()[0]:.1f}")
    ports = [port + given.sites + place for place in range(given.sites)]

    begun = time.monotonic()
    for place, health in enumerate(ports):
        call = [
            str(given.fedgrid.resolve()), "federation", "join", f"home/kits/part-{place}", "--quiet",
            "--data", f"home/rows/part-{place}.csv", "--out", f"run-{place}", "--health", str(health),
        ]  # fmt: skip
        errors = (folder / f"errors-{place}").open("wb")
        agents.append(subprocess.Popen(call, cwd=folder, stdout=subprocess.DEVNULL, stderr=errors))
    pids = [agent.pid for agent in agents]

    def until(enough: int) -> None:
        """Waits until each site has done so many rounds."""
        for health in ports:
            while rounds(health) < enough:
                ended = [place for place, agent in enumerate(agents) if agent.poll() is not None]
                if ended:
                    sys.exit(f"part-{ended[0]} has ended: {(folder / f'errors-{ended[0]}').read_text()}")
                if time.monotonic() - begun > given.patience:
                    sys.exit(f"not at round {enough} after {given.patience:.0f} s")
                time.sleep(0.1)

    until(1)
    there = time.monotonic() - begun
    print(f"all have joined and done a round after {there:.1f} s, which took {processor_seconds(pids):.0f} processor seconds")
    # Rounds are in step: a site is as far as its neighbours, give or take one.
    start, from_round, used = time.monotonic(), rounds(ports[0]), processor_seconds(pids)
    until(given.rounds * 3 // 4)
    done, seconds = rounds(ports[0]) - from_round, time.monotonic() - start
    used = processor_seconds(pids) - used
    print(f"{done / seconds:.1f} rounds a second over {done} rounds; {1e3 * used / done / given.sites:.2f} ms of processor, a round and site")
    sizes = [of_process(pid) for pid in pids]
    seen, own, threads = (list(column) for column in zip(*sizes, strict=True))
    print(f"an agent: {median(seen):.1f} MB (largest {max(seen):.1f}), {median(threads)} threads; all: {sum(own):.0f} MB, {sum(threads)} threads")


def main() -> None:
    given = arguments()
    agents: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            measured(given, Path(folder), agents)
        finally:
            for agent in agents:
                agent.kill()
            for agent in agents:
                agent.wait()


if __name__ == "__main__":
    main()
