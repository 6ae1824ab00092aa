#!/usr/bin/env bash
# Runs fuzzers of a build directory for FUZZ_SECONDS each (default 10): those named, or all of them.
# Starts from the seeds in tests/fuzz/NAME and what earlier runs found; a failing input is kept as
# BUILD_DIRECTORY/failed-NAME-*. Usage: scripts/fuzz.sh BUILD_DIRECTORY [NAME...]
set -euo pipefail

build=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- $(cd "$build" && ls -- *_fuzz)

for name in "$@"; do
  corpus="$build/corpus/$name"
  mkdir -p "$corpus"
  seeds=()
  [ ! -d "tests/fuzz/$name" ] || seeds=("tests/fuzz/$name")
  "$build/$name" -max_total_time="${FUZZ_SECONDS:-10}" -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="$build/failed-$name-" "$corpus" "${seeds[@]}"
done
