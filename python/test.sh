#!/usr/bin/env bash
# Installs the package in .venv with what its tests need, and tests it. Where that cannot be had, says why and skips.
# WHEEL_PROFILE=release tests the wheel that maturin builds. Else the native part is built together with the
# workspace: built alone, its dependencies have fewer features, and all crates would be compiled once more.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
venv=$PWD/.venv
profile=${WHEEL_PROFILE:-dev}

skip() {
    echo "skipped: the Python wheel is not tested: $1"
    exit 0
}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    skip "$python is not Python 3.11 or later"
test -x "$venv/bin/python" || "$python" -m venv "$venv" || skip "no virtual environment can be made"
known=$venv/fedgrid-requirements.txt
if ! cmp -s python/requirements-test.txt "$known"; then
    "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 30 -r python/requirements-test.txt ||
        skip "PyPI cannot be reached"
    # torch for processors only is not on PyPI, and what is there weighs gigabytes.
    "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 0 --timeout 10 \
        --index-url https://download.pytorch.org/whl/cpu torch >/dev/null 2>&1 ||
        echo "torch cannot be had from download.pytorch.org: its tests are skipped"
    cp python/requirements-test.txt "$known"
fi

target=${CARGO_TARGET_DIR:-$PWD/target}
wheels=$target/wheels
rm -rf "$wheels"
mkdir -p "$wheels"
if [ "$profile" = dev ]; then
    # With tests, because these decide about features, too.
    cargo build --quiet --locked --workspace --lib --tests
    cp -r python/fedgrid "$wheels/fedgrid"
    native=$(find "$target/debug" -maxdepth 1 -name 'lib_fedgrid.so' -o -maxdepth 1 -name 'lib_fedgrid.dylib')
    cp "$native" "$wheels/fedgrid/_fedgrid.abi3.so"
    (cd python && "$venv/bin/maturin" pep517 write-dist-info --metadata-directory "$wheels" \
        --interpreter "$venv/bin/python" >/dev/null)
    "$venv/bin/python" -m wheel pack --dest-dir "$wheels" "$wheels" >/dev/null
else
    (cd python && "$venv/bin/maturin" build --quiet --locked --profile "$profile" --out "$wheels" \
        --interpreter "$venv/bin/python")
fi
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheels"/fedgrid-*.whl
size=$(cat "$wheels"/fedgrid-*.whl | wc -c)
echo "wheel: $((size / 1024)) kB"
test "$profile" != release || test "$size" -le $((15 * 1024 * 1024))

# From another folder, so that the installed package is tested and not the one beside.
cd python/tests
"$venv/bin/python" -m pytest -c ../pyproject.toml --rootdir .. -p no:cacheprovider . "$@"
cd ..
"$venv/bin/mypy" --no-error-summary
cd tests && "$venv/bin/python" -m mypy.stubtest fedgrid._fedgrid fedgrid.methods fedgrid.models
