#!/bin/bash
# Runs the Redis project's own tests against Cairn: redis_suite.sh [UNIT …], all of its units below if
# none is named. Fetches the source package of the distribution's Redis into build-redis-suite, starts
# build/cairn (or CAIRN_BINARY) anew for each unit, and leaves out the tests that
# tests/redis_suite/skipped.txt names with their reasons. Ends with one line of counts; fails if a test
# failed or a unit did not come to its end.
set -euo pipefail
cd "$(dirname "$0")/.."

binary=${CAIRN_BINARY:-$PWD/build/cairn}
work=$PWD/build-redis-suite
skipped=$PWD/tests/redis_suite/skipped.txt
unit_limit_s=900

# What is about the types and commands that Cairn has.
all_units=(
  unit/printver unit/dump unit/protocol unit/keyspace unit/scan unit/info-command
  unit/type/string unit/type/incr unit/type/list unit/type/list-2 unit/type/list-3 unit/type/set
  unit/type/zset unit/type/hash unit/type/stream unit/type/stream-cgroups
  unit/sort unit/expire unit/other unit/multi unit/quit unit/auth unit/acl unit/acl-v2 unit/latency-monitor
  unit/pubsub unit/pubsubshard unit/slowlog unit/scripting unit/functions unit/introspection
  unit/introspection-2 unit/limits unit/bitops unit/bitfield unit/geo unit/hyperloglog unit/lazyfree
  unit/pause unit/networking unit/violations unit/info unit/tracking unit/obuf-limits unit/querybuf
)

fetch() {
  if compgen -G "$work/redis-*/tests/test_helper.tcl" > /dev/null; then return; fi
  mkdir -p "$work"
  if ! (cd "$work" && apt-get source --quiet redis); then
    echo "redis_suite: no source package of redis: apt needs a deb-src entry" >&2
    exit 1
  fi
}

# The suite expects programs of its own build, leaves out units that would disturb a server it does
# not own, and ends where such a server does not take a setting of persistence. This one is ours, and
# persists as it does.
prepare() {
  cd "$work"/redis-*/
  ln -sf "$(command -v redis-cli)" src/redis-cli
  ln -sf "$(command -v redis-benchmark)" src/redis-benchmark
  sed -i 's/^        r config set \$param \$val$/        catch {r config set $param $val}/' \
    tests/support/server.tcl
  sed -i '1s/ *external:skip//' tests/unit/acl.tcl tests/unit/acl-v2.tcl tests/unit/pubsubshard.tcl \
    tests/unit/obuf-limits.tcl
  sed -i '/"auth/s/ *external:skip//' tests/unit/auth.tcl
  sed -E '/^(#|[[:space:]]*$)/d' "$skipped" > "$work/skip"
}

server_pid=
stop_server() {
  if [[ -n $server_pid ]]; then
    kill "$server_pid" 2> /dev/null || true
    wait "$server_pid" 2> /dev/null || true
    server_pid=
  fi
  rm -rf "$work/data"
}
trap stop_server EXIT

start_server() {
  rm -rf "$work/data" "$work/ready"
  "$binary" serve --data "$work/data" --resp 127.0.0.1:0 --http 127.0.0.1:0 --durability os \
    --ready-file "$work/ready" > "$work/server.log" 2>&1 &
  server_pid=$!
  until [[ -s $work/ready ]]; do
    if ! kill -0 "$server_pid" 2> /dev/null; then
      cat "$work/server.log" >&2
      exit 1
    fi
    sleep 0.05
  done
  port=$(sed -E 's/.*"resp" *: *"[^"]*:([0-9]+)".*/\1/' "$work/ready" | head -1)
}

failures=0
count() { grep -a -c -E "^\[$1\]" "$2" || true; }

run_unit() {
  local unit=$1 log="$work/${1//\//_}.log"
  start_server
  timeout "$unit_limit_s" tclsh tests/test_helper.tcl --host 127.0.0.1 --port "$port" --single "$unit" \
    --tags "-needs:repl -cluster -masterauth" --durable --ignore-encoding --ignore-digest --skipfile "$work/skip" \
    --timeout 300 2>&1 | sed -u 's/\x1b\[[0-9;]*m//g' > "$log" || true
  local failed passed left_out
  passed=$(count ok "$log")
  failed=$(count 'err|exception' "$log")
  left_out=$(count 'skip|ignore' "$log")
  if ! kill -0 "$server_pid" 2> /dev/null; then
    echo "$unit: the server ended"
    failed=$((failed + 1))
  elif ! grep -q '^\[[0-9]*/[0-9]* done\]' "$log" || grep -q '^\[TIMEOUT\]' "$log"; then
    echo "$unit: did not come to its end"
    failed=$((failed + 1))
  fi
  stop_server
  printf '%-26s %4d passed %4d failed %4d left out\n' "$unit" "$passed" "$failed" "$left_out"
  grep -a -A4 -E '^\[(err|exception)\]' "$log" || true
  total_passed=$((total_passed + passed))
  total_left_out=$((total_left_out + left_out))
  failures=$((failures + failed))
}

fetch
prepare
total_passed=0
total_left_out=0
units=("$@")
[[ ${#units[@]} -gt 0 ]] || units=("${all_units[@]}")
for unit in "${units[@]}"; do run_unit "$unit"; done
echo "Redis's own tests: $total_passed passed, $failures failed, $total_left_out left out"
[[ $failures -eq 0 ]]
