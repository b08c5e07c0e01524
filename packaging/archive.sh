#!/usr/bin/env bash
# archive.sh TARGET VERSION: the command of a release build, with licences, completions, manual pages, the list of materials and
# the sums of all its files, as dist/fedgrid-VERSION-TARGET.tar.gz.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$1 version=$2
folder=fedgrid-$version-$target
built=${CARGO_TARGET_DIR:-target}/$target/release
ending=
case "$target" in *windows*) ending=.exe ;; esac

rm -rf "dist/$folder"
mkdir -p "dist/$folder/completions"
cp "$built/fedgrid$ending" LICENSE-MIT LICENSE-APACHE README.md CHANGELOG.md CITATION.cff "dist/$folder"
"$built/fedgrid$ending" man --out "dist/$folder/man1"
for shell in bash zsh fish powershell; do
    "$built/fedgrid$ending" completions "$shell" > "dist/$folder/completions/fedgrid.$shell"
done
# cargo-cyclonedx leaves it beside the manifest.
materials=$(find crates/fedgrid-cli -maxdepth 1 -name '*.cdx.json' -print -quit)
if [ -n "$materials" ]; then
    cp "$materials" "dist/$folder/fedgrid.cdx.json"
    cp "$materials" "dist/$folder.cdx.json"
else
    echo "no list of materials: cargo cyclonedx has not run" >&2
fi
# macOS has shasum instead.
sums=(sha256sum)
command -v sha256sum >/dev/null || sums=(shasum -a 256)
(cd "dist/$folder" && find . -type f | LC_ALL=C sort | xargs "${sums[@]}") > "dist/$folder.sums"
mv "dist/$folder.sums" "dist/$folder/SHA256SUMS"
tar -czf "dist/$folder.tar.gz" -C dist "$folder"
rm -rf "dist/${folder:?}"
echo "dist/$folder.tar.gz"
