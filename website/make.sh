#!/usr/bin/env bash
# make.sh OUT [COMMAND]: the documentation site in OUT/html. Installs what it needs in .venv-site, which takes seconds.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
venv=$PWD/.venv-site

skip() {
    echo "skipped: the site is not made: $1"
    exit 0
}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    skip "$python is not Python 3.11 or later"
test -x "$venv/bin/python" || "$python" -m venv "$venv" || skip "no virtual environment can be made"
known=$venv/fedgrid-requirements.txt
if ! cmp -s website/requirements.txt "$known"; then
    "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 30 -r website/requirements.txt ||
        skip "PyPI cannot be reached"
    cp website/requirements.txt "$known"
fi
"$venv/bin/python" website/build.py "$@"
