#!/usr/bin/env bash
# Builds the container image with podman, docker or buildah (FEDGRID_ENGINE chooses), and runs the demo and a federation of
# three sites in it. Where there is no engine, or its images cannot be had, says so and skips.
set -euo pipefail
cd "$(dirname "$0")/.."
image=${FEDGRID_IMAGE:-localhost/fedgrid:latest}
# The images of the Containerfile, unless others are named.
build_image=${BUILD_IMAGE:-docker.io/library/rust:1.95-slim-bookworm}
base_image=${BASE_IMAGE:-docker.io/library/debian:bookworm-slim}

skip() {
    echo "skipped: no container image is built: $1"
    exit 0
}

# Docker's command alone, without its daemon, builds nothing.
can_build() {
    command -v "$1" >/dev/null && { test "$1" != docker || docker info >/dev/null 2>&1; }
}

engine=${FEDGRID_ENGINE:-}
test -z "$engine" || can_build "$engine" || skip "$engine is not installed, or its daemon does not answer"
for known in podman docker buildah; do
    test -n "$engine" || ! can_build "$known" || engine=$known
done
test -n "$engine" || skip "neither podman nor buildah is installed, nor a docker whose daemon answers"
for needed in "$build_image" "$base_image"; do
    # shellcheck disable=SC2086  # no argument at all for the others
    "$engine" inspect ${engine/buildah/--type=image} "$needed" >/dev/null 2>&1 ||
        "$engine" pull "$needed" >/dev/null 2>&1 || skip "$needed is not here and cannot be pulled"
done 2>/dev/null

"$engine" build --build-arg "BUILD_IMAGE=$build_image" --build-arg "BASE_IMAGE=$base_image" \
    --tag "$image" --file packaging/Containerfile .

folder=$(mktemp -d)
# The user of the image has another number than we have.
chmod 777 "$folder"
trap 'rm -rf "$folder"' EXIT
container=
if [ "$engine" = buildah ]; then
    container=$(buildah from --pull-never "$image")
    trap 'buildah rm "$container" >/dev/null; rm -rf "$folder"' EXIT
fi

# Runs the command of the image beside the others, with the folder at /work.
fedgrid() {
    if [ "$engine" = buildah ]; then
        buildah run --user 10001:10001 --volume "$folder:/work" --workingdir /work "$container" -- fedgrid "$@"
    else
        "$engine" run --rm --network host --volume "$folder:/work" --workdir /work "$image" "$@"
    fi
}

fedgrid demo --quiet
test -s "$folder/fedgrid-demo/report.html"
cp examples/colorado/* "$folder"
fedgrid federation new colorado.toml --set method.kind=fedrelax --set method.alpha=1 --processes 3 --out home --quiet
for part in 0 1 2; do
    fedgrid federation join home/kits/part-$part --data home/rows/part-$part.csv --quiet &
done
for _ in 0 1 2; do wait -n; done
test "$(find "$folder/runs" -name result.json | wc -l)" = 3
echo "image: $image, built by $engine; the demo and three sites ran in it"
