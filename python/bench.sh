#!/usr/bin/env bash
# The wheel in release: its size, its import, 10⁵ nodes from one frame, and a whole comparison against scikit-learn.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$PWD/.venv
wheels=${CARGO_TARGET_DIR:-$PWD/target}/wheels
rm -f "$wheels"/fedgrid-*.whl
(cd python && "$venv/bin/maturin" build --quiet --locked --release --out "$wheels" \
    --interpreter "$venv/bin/python")
"$venv/bin/pip" install --quiet --no-deps --force-reinstall "$wheels"/fedgrid-*.whl
echo "wheel: $(($(cat "$wheels"/fedgrid-*.whl | wc -c) / 1024)) kB (goal 15 MB)"
cd python/benches
"$venv/bin/python" start.py
"$venv/bin/python" hundred_thousand.py
"$venv/bin/python" classes.py
