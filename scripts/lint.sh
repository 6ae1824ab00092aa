#!/usr/bin/env bash
# Checks layout (clang-format) and code (clang-tidy); warnings are errors.
# `scripts/lint.sh fix` rewrites the layout instead of checking it.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -d '' files < <(find src tests bench cmake -name '*.h' -print0 -o -name '*.cc' -print0)
if [ "${1:-}" = fix ]; then
  clang-format -i "${files[@]}"
  exit
fi

clang-format --dry-run -Werror "${files[@]}"
echo "clang-format: ${#files[@]} files"
cmake -S . -B build-lint -G Ninja -DCMAKE_BUILD_TYPE=Lint -DCMAKE_CXX_COMPILER=clang++-16 \
  --log-level=WARNING
scripts/tidy.py build-lint
