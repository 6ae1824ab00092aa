#!/usr/bin/env python3
"""Functions in number: what 10,000 published ones, invoked over 200 connections, change.

A server is given a few functions and measured, then it is given the rest and measured again, the same way:
  one        all connections invoke one function
  some       all connections invoke 100 functions in turn
  all        every function is invoked once: each is read from the store and compiled
  beside     all connections invoke one function while another client publishes large bundles
  start      how long a start takes until the server answers
Printed are rates, latencies and the memory of the server and of all processes of the sandbox, and for each
latency the ratio of many functions to few: near 1 is flat. Fails if the memory that published functions cost is
not bounded, if a process of the sandbox is left over, or if an invocation goes wrong.

  bench/functions/scale.py                                  10,000 functions, 200 connections
  bench/functions/scale.py --functions 1000 --seconds 2     a quick look
"""

import argparse
import json
import os
import random
import selectors
import shutil
import signal
import socket
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from servers import free_port, start_cairn  # noqa: E402  (found through the line above)

SPACE = "t_scale1/load"
SOME = 100
BATCH = 100  # publishes of a pipeline
# What the server may hold for each published function that nobody has invoked: block caches and the like. The
# target is nothing; the bound leaves room for what the store keeps of 10,000 writes.
MAX_BYTES_EACH = 16 * 1024
MANIFEST = json.dumps({
    "schema": "cs.function.script.v1", "runtime": "cs-js", "entry": "function.js", "handler": "default",
    "limits": {"timeoutMs": 10_000, "memoryMb": 64, "maxConcurrency": 100},
    "capabilities": {"kv": {}, "codeq": {}, "http": {}}})


def source(number):
    """About 1 KiB, no two alike."""
    lines = "\n".join(f"const value{i} = {i * number};" for i in range(30))
    return f"{lines}\nexport default (event) => ({{body: 'function {number} ' + event.n + value7}});\n"


class Load:
    """So many connections, each with one request under way, until the time is up or the work is done."""

    def __init__(self, port, connections):
        self.selector = selectors.DefaultSelector()
        self.connections = []
        for _ in range(connections):
            connection = socket.create_connection(("127.0.0.1", port), timeout=60)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections.append(connection)
            self.selector.register(connection, selectors.EVENT_READ)

    def close(self):
        for connection in self.connections:
            connection.close()
        self.selector.close()

    def run(self, next_request, seconds):
        """`next_request()` gives bytes, or None when nothing is left. Latencies in milliseconds."""
        latencies = []
        waiting = {}  # by connection: when it was sent, what has come
        begin = time.monotonic()
        end = begin + seconds

        def send(connection):
            request = next_request() if time.monotonic() < end else None
            if request is not None:
                connection.sendall(request)
                waiting[connection] = (time.monotonic(), b"")

        for connection in self.connections:
            send(connection)
        while waiting:
            ready = self.selector.select(timeout=60)
            if not ready:
                raise SystemExit("no answer in 60 s")
            for key, _ in ready:
                connection = key.fileobj
                sent, got = waiting[connection]
                got += connection.recv(65536)
                if not complete(got):
                    waiting[connection] = (sent, got)
                    continue
                latencies.append((time.monotonic() - sent) * 1000)
                del waiting[connection]
                if b'"status":"success"' not in got:
                    raise SystemExit(f"an invocation went wrong: {got.decode(errors='replace')}")
                send(connection)
        return latencies, len(latencies) / (time.monotonic() - begin)


def complete(answer):
    head, found, body = answer.partition(b"\r\n\r\n")
    if not found:
        return False
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return len(body) >= int(value)
    raise SystemExit(f"an answer without a length: {head.decode(errors='replace')}")


def invocation(number):
    tenant, namespace = SPACE.split("/")
    body = json.dumps({"ref": {"alias": "live"}, "event": {"n": number}}).encode()
    path = f"/v1/tenants/{tenant}/namespaces/{namespace}/functions/fn{number}:invoke"
    return (f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def tree(pid):
    """The process and all below it."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as stat:
                    parent = int(stat.read().rpartition(")")[2].split()[1])
            except OSError:  # it has ended
                continue
            children.setdefault(parent, []).append(int(name))
    found, open_ones = [], [pid]
    while open_ones:
        one = open_ones.pop()
        found.append(one)
        open_ones += children.get(one, [])
    return found


def own_bytes(pid):
    """Memory that no other process shares, and the heap."""
    total = 0
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
            for line in rollup:
                if line.startswith(("Private_Clean", "Private_Dirty")):
                    total += int(line.split()[1]) * 1024
    except OSError:
        return 0
    return total


class Scale:
    def __init__(self, directory, options):
        self.directory = directory
        self.options = options
        self.published = 0
        self.failures = []
        self.start()

    def start(self):
        self.http_port = free_port()
        begin = time.monotonic()
        self.server = start_cairn(self.directory, self.options.durability, http_port=self.http_port,
                                  flags=("--functions-cache", f"{self.options.cache_mb}MiB"))
        return time.monotonic() - begin

    def restart(self):
        self.server.stop()
        return self.start()

    def publish(self, count):
        """The next functions; the seconds it took."""
        begin = time.monotonic()
        last = min(self.published + count, self.options.functions)
        while self.published < last:
            numbers = range(self.published, min(self.published + BATCH, last))
            commands = []
            for number in numbers:
                name = f"{SPACE}/fn{number}"
                commands.append(("FN.CREATE", name))
                commands.append(("FN.PUBLISH", name, "FILES", 2, "function.js", source(number), "manifest.json",
                                 MANIFEST, "ALIAS", "live"))
            self.server.pipeline(commands)
            self.published = numbers[-1] + 1
        return time.monotonic() - begin

    def memory(self):
        processes = tree(self.server.process.pid)
        return own_bytes(processes[0]), sum(own_bytes(pid) for pid in processes[1:]), len(processes) - 1

    def invoke(self, numbers, seconds):
        requests = (invocation(number) for number in numbers)
        load = Load(self.http_port, self.options.connections)
        latencies, rate = load.run(lambda: next(requests, None), seconds)
        load.close()
        latencies.sort()
        return {"rate": rate, "count": len(latencies), "p50": statistics.median(latencies),
                "p99": latencies[int(len(latencies) * 0.99)]}

    def invoke_beside_publishes(self, seconds):
        """The latencies of one function while versions of 1 MiB are published without a pause."""
        child = os.fork()
        if child == 0:
            filler = "// " + "x" * 1024 * 1024 + "\n"
            number = 0
            while True:
                number += 1
                self.server.command("FN.PUBLISH", f"{SPACE}/fn{self.published - 1}", "FILES", 2, "function.js",
                                    filler + source(number), "manifest.json", MANIFEST)
        try:
            return self.invoke(iter(lambda: 0, None), seconds)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def measure(self):
        chance = random.Random(7)

        def some():
            while True:
                yield chance.randrange(min(SOME, self.published))

        def one():
            while True:
                yield 0

        self.invoke(one(), 1)  # what is made once is made now
        return {"one": self.invoke(one(), self.options.seconds), "some": self.invoke(some(), self.options.seconds)}

    def expect(self, good, what):
        if not good:
            self.failures.append(what)
            print(f"FAILED: {what}")

    def run(self):
        megabyte = 1024 * 1024
        self.publish(SOME)
        start_few = self.restart()
        idle_few, _, _ = self.memory()
        few = self.measure()
        server_few, sandbox_few, children_few = self.memory()

        seconds = self.publish(self.options.functions)
        added = self.published - SOME
        print(f"{added} more functions published in {seconds:.1f} s, {added / seconds:,.0f}/s")
        start_many = self.restart()
        idle_many, _, children_idle = self.memory()
        self.expect(children_idle == 0, "a server that has invoked nothing has processes of the sandbox")
        many = self.measure()
        server_many, sandbox_many, children_many = self.memory()

        print(f"\n{self.options.connections} connections, durability {self.options.durability}")
        print(f"{'':8} {'functions':>10} {'invokes/s':>10} {'p50 ms':>8} {'p99 ms':>8}")
        for name in few:
            for functions, found in ((SOME, few[name]), (self.published, many[name])):
                print(f"{name:8} {functions:10,} {found['rate']:10,.0f} {found['p50']:8.2f} {found['p99']:8.2f}")
            print(f"{'':8} {'ratio':>10} {many[name]['rate'] / few[name]['rate']:10.2f} "
                  f"{many[name]['p50'] / few[name]['p50']:8.2f} {many[name]['p99'] / few[name]['p99']:8.2f}")
        beside = self.invoke_beside_publishes(self.options.seconds)
        one = many["one"]
        print(f"{'beside':8} {self.published:10,} {beside['rate']:10,.0f} {beside['p50']:8.2f} {beside['p99']:8.2f}")
        print(f"{'':8} {'ratio':>10} {beside['rate'] / one['rate']:10.2f} {beside['p50'] / one['p50']:8.2f} "
              f"{beside['p99'] / one['p99']:8.2f}   to one, without publishes")
        everything = self.invoke(iter(range(self.published)), 3600)
        self.expect(everything["count"] == self.published, "not every function was invoked")
        server_all, sandbox_all, children_all = self.memory()
        print(f"{'all':8} {self.published:10,} {everything['rate']:10,.0f} {everything['p50']:8.2f} "
              f"{everything['p99']:8.2f}   each for the first time")

        print(f"\nstart: {start_few:.2f} s with {SOME} functions, {start_many:.2f} s with {self.published:,}, "
              f"ratio {start_many / start_few:.2f}")
        print(f"{'memory':24} {'server MB':>10} {'sandbox MB':>11} {'processes':>10}")
        for name, server, sandbox, children in (
                (f"{SOME}, none invoked", idle_few, 0, 0),
                (f"{SOME}, all invoked", server_few, sandbox_few, children_few),
                (f"{self.published:,}, none invoked", idle_many, 0, children_idle),
                (f"{self.published:,}, {SOME} invoked", server_many, sandbox_many, children_many),
                (f"{self.published:,}, all invoked", server_all, sandbox_all, children_all)):
            print(f"{name:24} {server / megabyte:10.1f} {sandbox / megabyte:11.1f} {children:10}")
        each = (idle_many - idle_few) / added
        print(f"a published function that nobody invokes costs {each:,.0f} bytes of the server's memory")
        self.expect(each < MAX_BYTES_EACH, f"published functions cost {each:,.0f} bytes each")
        cache = self.options.cache_mb * megabyte
        self.expect(server_all < server_many + cache + 256 * megabyte, "memory grows with what was invoked once")
        if self.failures:
            raise SystemExit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    parser.add_argument("--durability", default="os", choices=("sync", "interval", "os"))
    parser.add_argument("--cache-mb", type=int, default=256, help="functions.cache of the server, which bounds it")
    options = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="cairn-scale-")
    try:
        scale = Scale(directory, options)
        try:
            scale.run()
        finally:
            scale.server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
