#!/usr/bin/env bash
# Builds the package, checks it with R CMD check and runs the code of its README; skipped with a reason where R is not there.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

skip() {
    echo "skipped: the R package is not checked: $1"
    exit 0
}

command -v R >/dev/null || skip "R is not installed"
test -n "${FEDGRID:-}" || skip "the command is not built: cargo build, or name it in FEDGRID"
FEDGRID=$(realpath "$FEDGRID")
export FEDGRID
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
R CMD build "$root/r" >build.log 2>&1 || { cat build.log; exit 1; }
manual=--no-manual
# What is missing of a system's own tools is no fault of the package; warnings are.
R_CHECK_ENVIRON=/dev/null _R_CHECK_FORCE_SUGGESTS_=false R CMD check "$manual" fedgrid_*.tar.gz || { cat fedgrid.Rcheck/00check.log; find fedgrid.Rcheck -name '*.fail' -exec cat {} +; exit 1; }
if grep -E ' (WARNING|ERROR)$' fedgrid.Rcheck/00check.log; then exit 1; fi
mkdir library
R CMD INSTALL --library=library fedgrid_*.tar.gz >/dev/null 2>&1
# The blocks of the page, from the repository.
sed -n '/^```r$/,/^```$/p' "$root/r/README.md" | grep -v '^```' >readme.R
(cd "$root" && R_LIBS="$folder/library" Rscript --vanilla -e "grDevices::pdf(NULL); source('$folder/readme.R', echo = FALSE)")
echo "r: the package is whole, and the code of its page runs"
