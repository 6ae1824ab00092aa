#!/usr/bin/env bash
# Installs the npm packages that tests/clients runs, as tests/clients/package-lock.json pins them,
# into build-npm/. Says nothing and changes nothing when they are there. The lock file names neither a
# registry nor optional packages.
set -euo pipefail
cd "$(dirname "$0")/.."

target=build-npm
installed="$target/installed.json"  # the lock file of what is there, written last
cmp -s tests/clients/package-lock.json "$installed" && exit 0

echo "setup: installing the npm packages of tests/clients"
mkdir -p "$target"
rm -f "$installed"
cp tests/clients/package.json tests/clients/package-lock.json "$target"
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
