#!/bin/bash
# Builds targets of a preset from nothing as soon as can be: files in batches. If that fails, for
# instance because two files of a batch use a name twice, one by one: those errors count.
# Usage: tools/build.sh PRESET 'TARGET...' JOBS [OPTION OF CMAKE...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1 jobs=$3
read -ra targets <<<"$2"
shift 3

build() {
  local configure=(--preset "$preset" "$@")
  cmake "${configure[@]}" || {
    # An interrupted first run leaves a cache that CMake cannot use. Before 3.24 it has no --fresh.
    rm -rf "build/$preset/CMakeCache.txt" "build/$preset/CMakeFiles"
    cmake "${configure[@]}"
  } || exit 1
  cmake --build --preset "$preset" --target "${targets[@]}" -j "$jobs"
}

build "$@" -DLATECOMER_BATCHES=ON ||
  { echo "== not in batches: one by one" && build "$@" -DLATECOMER_BATCHES=OFF; }
