#!/usr/bin/env python3
"""Functions through Cairn, workerd and node: the same handler and event over HTTP, on this machine in one run.

Cairn runs each function in a process of its sandbox and writes an activation: it is queued, runs and ends in
two commits, which are durable before the answer (with durability sync; with os they are written to the
system). A function has fresh globals for each activation (isolation "activation") or keeps them ("version").
workerd, with its worker loader, is the only peer that loads the text of a function at run time and isolates
it: an isolate for each function, in the server's process. node runs the handler as a module of the server, or
with a fresh vm context for each request, which is no boundary. The peers record nothing.

  warm       synchronous invocations of a function that has been invoked before: 1 connection, then 64
  first      the first invocation of a version: what is new is its code, of 1 KB and of 200 KB
  child      the first invocation for a tenant, of code that is known: a process is forked for it
  memory     of a warm function, of an idle process, and of 10,000 functions that were never invoked

Every answer is checked, and whether each activation was recorded. Wrong results end the run; figures that
miss what is wanted only say so.

  bench/functions/run.py                       everything
  bench/functions/run.py --only warm           or: first, child, memory
  bench/functions/run.py --against BINARY      another build of Cairn among the peers: before and after
"""

import argparse
import json
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from jobs.run import median_sync_ms, run_and_parse, verdict  # noqa: E402  (found through the line above)
from servers import CAIRN, ROOT, free_port, start_cairn  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
LOAD = os.environ.get("BENCH_FUNCTIONS", os.path.join(ROOT, "build", "bench", "bench_functions"))
NPM = os.path.join(ROOT, "build-npm-bench-functions")
WORKERD = os.path.join(NPM, "node_modules", "@cloudflare", "workerd-linux-64", "bin", "workerd")

WANTED_P50_US = 300       # warm, 1 connection, durability os
WANTED_SYNC_US = 500      # beside two syncs of the disk
WANTED_RATE = {"activation": 3_500, "version": 8_000}
WANTED_FIRST_US = {1: 2_000, 200: 5_000}  # by KB of source
WANTED_CHILD_US = 2_000
WANTED_FUNCTION_KB = 50
WANTED_CHILD_KB = 3 * 1024
START_SECONDS = 30
SMALL, LARGE = 1, 200     # KB of source

HANDLER = """export default function (event, ctx) {
  const total = event.items.reduce((sum, item) => sum + item.price * item.count, 0);
  return {statusCode: 200, headers: {"content-type": "application/json"},
          body: JSON.stringify({customer: event.customer, total})};
}
"""
EVENT = json.dumps({"customer": "ann", "note": "leave it at the door", "items": [
    {"name": "apples", "price": 3, "count": 4}, {"name": "bread", "price": 5, "count": 2},
    {"name": "cheese", "price": 31, "count": 2}]}, separators=(",", ":"))
EXPECT = r'\"total\":84'
TENANT = "t_bench01"


def source(kilobytes, number=0):
    """The handler, and functions that fill the file: `number` makes it another one."""
    text = HANDLER
    i = 0
    while len(text) < kilobytes * 1024:
        text += (f"function fill{i}(a, b) {{\n  if (a > b + {number}) return a * {i} + b;\n"
                 f"  return [a, b].map((n) => n - {i}).join('-');\n}}\n")
        i += 1
    return text


def manifest(isolation):
    return json.dumps({"schema": "cs.function.script.v1", "runtime": "cs-js", "entry": "function.js",
                       "handler": "default", "isolation": isolation,
                       "limits": {"timeoutMs": 5000, "memoryMb": 64, "maxConcurrency": 100},
                       "capabilities": {"kv": {}, "codeq": {}, "http": {}}})


# --- processes ------------------------------------------------------------------------------------

def parents():
    """{pid: the fields of its stat behind the name}, of all processes."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                found[int(name)] = stat.read().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
    return found


def tree(pid):
    """The process and all below it: {pid: fields}."""
    everything = parents()
    members = {pid}
    while True:
        more = {child for child, fields in everything.items() if int(fields[1]) in members} - members
        if not more:
            return {member: everything[member] for member in members if member in everything}
        members |= more


def processor_seconds(pid):
    """What the process and all below it have used, ended children included."""
    ticks = sum(int(field) for fields in tree(pid).values() for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_kb(pid):
    """What a process takes, its part of what it shares with others included."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
        return int(re.search(r"^Pss:\s+(\d+) kB", rollup.read(), re.MULTILINE).group(1))


class Peer:
    """An HTTP server that keeps functions' sources and runs them: PUT and POST of a path."""

    def __init__(self, name, command, directory, port):
        self.name, self.port = name, port
        os.makedirs(directory)
        self.log = open(os.path.join(directory, "log"), "wb")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, cwd=HERE)
        self.pid = self.process.pid
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                return self.publish("probe", source(SMALL))
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise SystemExit(f"{name} did not start; see {directory}/log") from None
                time.sleep(0.05)

    def publish(self, name, text):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/{name}", text.encode(), method="PUT")
        with urllib.request.urlopen(request, timeout=60) as reply:
            reply.read()

    def path(self, name):
        return f"/{name}"

    def load(self, name, requests, connections=1, tenant=None):
        return run_load(self, self.path(name), requests, connections)

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.log.close()


class Cairn:
    def __init__(self, directory, durability, binary=CAIRN, name="Cairn", flags=()):
        os.makedirs(directory, exist_ok=True)
        self.name, self.durability = name, durability
        self.port = free_port()
        self.server = start_cairn(directory, durability, http_port=self.port, binary=binary, flags=flags)
        self.pid = self.server.process.pid

    def publish(self, name, text, isolation="activation", tenant=TENANT):
        self.publish_all([(name, text)], isolation, tenant)

    def publish_all(self, functions, isolation="activation", tenant=TENANT):
        commands = []
        for name, text in functions:
            function = f"{tenant}/bench/{name}"
            commands.append(("FN.CREATE", function))
            commands.append(("FN.PUBLISH", function, "FILES", 2, "function.js", text, "manifest.json",
                             manifest(isolation), "ALIAS", "prod"))
        self.server.pipeline(commands)

    def path(self, name, tenant=TENANT):
        return f"/v1/tenants/{tenant}/namespaces/bench/functions/{name}:invoke"

    def load(self, name, requests, connections=1, tenant=TENANT):
        """The load, and whether each activation was recorded as a success."""
        before = self.successes()
        result = run_load(self, self.path(name, tenant), requests, connections, ref={"alias": "prod"})
        # A caller is answered by the commit that ends its activation; the count follows it.
        deadline = time.monotonic() + START_SECONDS
        while self.successes() - before < requests:
            if time.monotonic() > deadline:
                raise SystemExit(f"{self.name}: not all of {requests} activations were recorded")
            time.sleep(0.01)
        return result

    def metric(self, name):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=60) as reply:
            for line in reply.read().decode().splitlines():
                if line.startswith(name + " "):
                    return float(line.rpartition(" ")[2])
        return 0.0

    def successes(self):
        """How many activations have succeeded."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=60) as reply:
            return sum(float(line.rpartition(" ")[2]) for line in reply.read().decode().splitlines()
                       if line.startswith("cs_invocations_total{") and 'status="success"' in line)

    def children(self):
        """The processes that run functions: the zygote, which they are forked from, is not one of them."""
        below = {pid: fields for pid, fields in tree(self.pid).items() if pid != self.pid}
        parents_of_some = {int(fields[1]) for fields in below.values()}
        return [pid for pid in below if pid not in parents_of_some]

    def stop(self):
        self.server.stop()


def run_load(server, path, requests, connections, ref=None):
    body = EVENT if ref is None else json.dumps({"ref": ref, "event": json.loads(EVENT)}, separators=(",", ":"))
    before = processor_seconds(server.pid)
    result = run_and_parse([LOAD, str(server.port), "--path", path, "--body", body, "--expect", EXPECT,
                            "--requests", str(requests), "--connections", str(connections)])
    result["processor_us"] = (processor_seconds(server.pid) - before) / requests * 1e6
    return result


def start_peers(directory):
    """workerd and two of node, by name."""
    started = []
    if platform.machine() == "x86_64":
        port = free_port()
        started.append(Peer("workerd, its loader",
                            [WORKERD, "serve", "--experimental", f"--socket-addr=http=127.0.0.1:{port}",
                             "workerd.capnp"], os.path.join(directory, "workerd"), port))
    else:
        print("workerd is left out: package.json names its build for x86_64")
    for mode, name in (("module", "node, a module"), ("context", "node, fresh vm context")):
        port = free_port()
        started.append(Peer(name, ["node", "node_peer.mjs", str(port), mode],
                            os.path.join(directory, f"node-{mode}"), port))
    return started


def medians(results):
    return {key: statistics.median(result[key] for result in results) for key in results[0]}


# --- warm -----------------------------------------------------------------------------------------

def warm(arguments, directory):
    rows = []  # (label, server, function, wanted p50 in µs, wanted rate)
    servers = start_peers(os.path.join(directory, "warm-peers"))
    try:
        sync_us = median_sync_ms(directory) * 1000
        builds = [("Cairn", CAIRN)] + ([("earlier", arguments.against)] if arguments.against else [])
        for durability in ("os", "sync"):
            wanted_us = WANTED_P50_US if durability == "os" else 2 * sync_us + WANTED_SYNC_US
            for name, binary in builds:
                cairn = Cairn(os.path.join(directory, f"warm-{name}-{durability}"), durability, binary, name)
                servers.append(cairn)
                for isolation in ("activation", "version"):
                    cairn.publish(isolation, source(SMALL), isolation)
                    rate = WANTED_RATE[isolation] if durability == "os" else None
                    rows.append((f"{name} {durability}, {isolation}", cairn, isolation, wanted_us, rate))
        for peer in servers:
            if isinstance(peer, Peer):
                peer.publish("warm", source(SMALL))
                rows.append((peer.name, peer, "warm", None, None))
        single, many = {}, {}
        for label, server, function, _, _ in rows:
            server.load(function, 200, 16)
        for _ in range(arguments.rounds):
            for label, server, function, _, _ in rows:
                single.setdefault(label, []).append(server.load(function, arguments.requests))
                many.setdefault(label, []).append(server.load(function, 4 * arguments.requests, 64))
    finally:
        for server in servers:
            server.stop()
    print_warm(arguments, rows, single, many, sync_us)


def print_warm(arguments, rows, single, many, sync_us):
    print(f"\nWarm, synchronous, over HTTP: medians of {arguments.rounds} rounds; {arguments.requests} requests with one "
          f"connection, {4 * arguments.requests} with 64. A sync of the disk takes {sync_us:.0f} µs.")
    print(f"{'':26} {'p50 µs':>8} {'p99 µs':>8} {'cpu µs':>8} {'wanted':>8} {'64: /s':>8} {'p50 µs':>8} {'p99 µs':>8} "
          f"{'cpu µs':>8} {'wanted':>8} {'ratio':>6}")
    compared = medians(many[rows[0][0]])["per_second"]
    missed = []
    for label, _, _, wanted_us, wanted_rate in rows:
        one, all_ = medians(single[label]), medians(many[label])
        us = f"{wanted_us:8.0f}" if wanted_us else " " * 8
        rate = f"{wanted_rate:8,}" if wanted_rate else " " * 8
        print(f"{label:26} {one['p50_us']:8.0f} {one['p99_us']:8.0f} {one['processor_us']:8.0f} {us} "
              f"{all_['per_second']:8,.0f} {all_['p50_us']:8.0f} {all_['p99_us']:8.0f} {all_['processor_us']:8.0f} "
              f"{rate} {compared / all_['per_second']:6.2f}")
        if wanted_us and one["p50_us"] > wanted_us:
            missed.append(f"{label}: p50")
        if wanted_rate and all_["per_second"] < wanted_rate:
            missed.append(f"{label}: rate")
    print(f"ratio: the rate of {rows[0][0]} by this one's. cpu: processor time of the server and its processes, a "
          "request")
    print(f"wanted: {'NOT reached by ' + ', '.join(missed) if missed else 'reached'}", flush=True)


# --- first ----------------------------------------------------------------------------------------

def first(arguments, directory):
    print(f"\nThe first invocation of a version, one after the other; {arguments.firsts} versions of each size", flush=True)
    print(f"{'':26} {'KB':>5} {'p50 µs':>8} {'p99 µs':>8} {'cpu µs':>8} {'wanted':>8} {'ratio':>6}", flush=True)
    servers = [Cairn(os.path.join(directory, "first"), "os")]
    if arguments.against:
        servers.append(Cairn(os.path.join(directory, "first-earlier"), "os", arguments.against, "earlier"))
    try:
        servers += start_peers(os.path.join(directory, "first-peers"))
        for kilobytes in (SMALL, LARGE):
            base = None
            for server in servers:
                server.publish("probe", source(SMALL))
                server.load("probe", 50)
                for i in range(arguments.firsts):
                    server.publish(f"first-{kilobytes}-{i}", source(kilobytes, i + 1))
                result = server.load(f"first-{kilobytes}-{{n}}", arguments.firsts)
                base = base or result["p50_us"]
                wanted = WANTED_FIRST_US[kilobytes]
                ours = isinstance(server, Cairn)
                print(f"{server.name:26} {kilobytes:5} {result['p50_us']:8.0f} {result['p99_us']:8.0f} "
                      f"{result['processor_us']:8.0f} {wanted if ours else '':>8} {result['p50_us'] / base:6.2f}"
                      f"{'   ' + verdict(result['p50_us'] <= wanted) if ours else ''}", flush=True)
    finally:
        for server in servers:
            server.stop()
    print("ratio: its p50 by Cairn's")


# --- child ----------------------------------------------------------------------------------------

def child(arguments, directory):
    """Code is known by what it is, so another tenant's first invocation of it has only its process to wait for."""
    builds = [("Cairn", CAIRN)] + ([("earlier", arguments.against)] if arguments.against else [])
    print(f"\nFrom the zygote to a child's first result: the first invocation for {arguments.tenants} tenants", flush=True)
    for name, binary in builds:
        cairn = Cairn(os.path.join(directory, f"child-{name}"), "os", binary, name)
        try:
            tenants = [f"t_child{i:02}" for i in range(arguments.tenants)]
            for tenant in tenants:
                cairn.publish("same", source(SMALL), tenant=tenant)
            cairn.publish("same", source(SMALL))
            cairn.load("same", 50)
            forks = cairn.metric("cs_sandbox_forks_total")
            results = [cairn.load("same", 1, tenant=tenant) for tenant in tenants]
            if cairn.metric("cs_sandbox_forks_total") - forks < len(tenants):
                raise SystemExit("not every tenant got a process of its own")
            took = sorted(result["p50_us"] for result in results)
            print(f"{name:26} p50 {took[len(took) // 2]:.0f} µs   longest {took[-1]:.0f} µs   wanted {WANTED_CHILD_US} µs, "
                  f"{verdict(took[len(took) // 2] <= WANTED_CHILD_US)}", flush=True)
        finally:
            cairn.stop()


# --- memory ---------------------------------------------------------------------------------------

def settled_kb(pids):
    """What these processes take together, once that no longer shrinks."""
    deadline = time.monotonic() + START_SECONDS
    last = None
    while time.monotonic() < deadline:
        time.sleep(0.5)
        now = sum(memory_kb(pid) for pid in pids())
        if last is not None and now >= 0.99 * last:
            return now
        last = now
    return last


def memory(arguments, directory):
    print("\nMemory (proportional set size: what is shared counts for each by its part)", flush=True)
    idle_child(arguments, directory)
    warm_functions(arguments, directory)
    published(arguments, directory)


def report(what, kilobytes, wanted=None):
    text = f"  {what:58} {kilobytes:9.1f} KB"
    if wanted is not None:
        text += f"   wanted {wanted} KB, {verdict(kilobytes <= wanted)}"
    print(text, flush=True)


def idle_child(arguments, directory):
    cairn = Cairn(os.path.join(directory, "idle"), "os")
    try:
        cairn.publish("same", source(SMALL))
        cairn.load("same", 50)

        def below():
            return [pid for pid in tree(cairn.pid) if pid != cairn.pid]
        one = settled_kb(below)
        count = len(cairn.children())
        for i in range(arguments.tenants):
            cairn.publish("same", source(SMALL), tenant=f"t_child{i:02}")
            cairn.load("same", 50, tenant=f"t_child{i:02}")
        all_ = settled_kb(below)
        more = len(cairn.children()) - count
        if more < arguments.tenants:
            raise SystemExit(f"{more} processes more instead of {arguments.tenants}")
        report(f"an idle process, of {more} with a function of {SMALL} KB", (all_ - one) / more, WANTED_CHILD_KB)
    finally:
        cairn.stop()


def warm_functions(arguments, directory):
    """As many invocations of many functions as of one: the rest, activations for instance, is the same."""
    taken = {}
    for many in (False, True):
        cairn = Cairn(os.path.join(directory, f"functions-{many}"), "os", flags=("--memory", "64MiB"))
        try:
            count = arguments.functions
            cairn.publish_all([(f"warm-{i}", source(SMALL, i + 1)) for i in range(count)])
            cairn.publish("one", source(SMALL))
            cairn.load("one", 50)
            cairn.load("warm-{n}" if many else "one", count)
            taken[many] = {"server": settled_kb(lambda: [cairn.pid]), "children": settled_kb(cairn.children)}
            items = cairn.metric("cs_invoker_cache_items")
            if many and items < count:
                raise SystemExit(f"the server keeps the code of {items:.0f} functions instead of {count}")
        finally:
            cairn.stop()
    more = {part: taken[True][part] - taken[False][part] for part in taken[True]}
    report(f"a warm function of {SMALL} KB, one of {count:,}, in the server", more["server"] / count)
    report("the same, its process included", sum(more.values()) / count, WANTED_FUNCTION_KB)


def published(arguments, directory):
    """Servers that were started again, one with functions and one without."""
    taken = {}
    for count in (0, arguments.published):
        path = os.path.join(directory, f"published-{count}")
        cairn = Cairn(path, "os")
        for begin in range(0, count, 500):
            cairn.publish_all([(f"fn{i}", source(SMALL, i)) for i in range(begin, min(begin + 500, count))])
        cairn.stop()
        cairn = Cairn(path, "os")
        try:
            if len(tree(cairn.pid)) > 1:
                raise SystemExit("a server whose functions were never invoked has processes for them")
            taken[count] = settled_kb(lambda: [cairn.pid])
        finally:
            cairn.stop()
    report("a server without functions", taken[0])
    report(f"with {arguments.published:,} that were never invoked, more", taken[arguments.published] - taken[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=5_000, help="of each round with one connection; 64 make four times as many")
    parser.add_argument("--firsts", type=int, default=50, help="versions of each size")
    parser.add_argument("--tenants", type=int, default=40)
    parser.add_argument("--functions", type=int, default=1_000, help="that are warm at once")
    parser.add_argument("--published", type=int, default=10_000)
    parser.add_argument("--against", metavar="BINARY", type=os.path.abspath, help="another build of Cairn among the peers")
    parser.add_argument("--only", choices=("warm", "first", "child", "memory"))
    arguments = parser.parse_args()
    if arguments.only in (None, "warm", "first") and platform.machine() == "x86_64":
        subprocess.run([os.path.join(ROOT, "scripts", "npm_test_packages.sh"), "bench/functions", NPM], check=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # and so ends the servers too
    directory = tempfile.mkdtemp(prefix="cairn-bench-functions-")
    os.chmod(directory, 0o755)
    try:
        for name, part in (("warm", warm), ("first", first), ("child", child), ("memory", memory)):
            if arguments.only in (None, name):
                part(arguments, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
