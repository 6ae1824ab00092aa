#!/usr/bin/env bash
# Installs the Debian packages of the given groups (scripts/packages.txt) that are missing.
# Says nothing and changes nothing when all are there. Usage: scripts/setup.sh build [test] [lint]
set -euo pipefail

fail() {
  echo "setup: $*" >&2
  exit 1
}

list="$(dirname "$0")/packages.txt"
[ $# -gt 0 ] || fail "name the groups to install: build, test, lint"
for group in "$@"; do
  grep -q "^$group " "$list" || fail "no group '$group' in $list"
done
wanted=$(for group in "$@"; do awk -v group="$group" '$1 == group { print $2 }' "$list"; done | sort -u)

command -v dpkg-query >/dev/null || fail "this is not a Debian system. Install the equivalents of:" $wanted
# What an installed package provides counts too: a nodejs from elsewhere may bring npm with it.
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package} ${Provides}\n' 2>/dev/null |
  awk '$1 == "installed" { for (i = 2; i <= NF; ++i) print $i }' | tr -d , | sort -u)
missing=$(comm -23 <(echo "$wanted") <(echo "$installed"))
[ -n "$missing" ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null ||
    fail "not root, and there is no sudo. As root, run: apt-get install --no-install-recommends" $missing
  as_root=(sudo)
fi

echo "setup: installing" $missing

# Redis and PostgreSQL are only for tests, which start their own: those of the system must not start,
# now or at boot. Debian asks
# policy-rc.d before it starts a service; one that is already there is respected.
policy=/usr/sbin/policy-rc.d
made=()
trap '"${as_root[@]}" rm -f "${made[@]}"' EXIT
if [ ! -e "$policy" ]; then
  made+=("$policy")
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod +x "$policy"
fi

log=$(mktemp)
made+=("$log")
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" \
    </dev/null >"$log" 2>&1 || { cat "$log" >&2 && fail "apt-get $1 failed"; }
}
apt update
# shellcheck disable=SC2086  # one word per package
apt install -y --no-install-recommends $missing

if grep -qx redis-server <<<"$missing"; then
  "${as_root[@]}" update-rc.d redis-server disable
fi
if grep -qx postgresql <<<"$missing"; then
  for start in /etc/postgresql/*/main/start.conf; do
    if [ -e "$start" ]; then echo manual | "${as_root[@]}" tee "$start" >/dev/null; fi
  done
fi
