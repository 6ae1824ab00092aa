#!/usr/bin/env bash
# Installs the npm packages that a folder needs (default: tests/clients), as its package-lock.json pins
# them, into another (default: build-npm). Says nothing and changes nothing when they are there. The lock
# files name neither a registry nor optional packages. Usage: npm_test_packages.sh [FOLDER TARGET]
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-tests/clients}
target=${2:-build-npm}
installed="$target/installed.json"  # the lock file of what is there, written last
cmp -s "$folder/package-lock.json" "$installed" && exit 0

echo "setup: installing the npm packages of $folder"
mkdir -p "$target"
rm -f "$installed"
cp "$folder/package.json" "$folder/package-lock.json" "$target"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Install scripts only build optional native parts, which the tests do not need.
npm ci --prefix "$target" --ignore-scripts --omit=optional --no-audit --no-fund \
  --no-update-notifier --loglevel=error >"$log" 2>&1 || {
  cat "$log" >&2
  echo "setup: npm ci failed" >&2
  exit 1
}
mv "$target/package-lock.json" "$installed"
