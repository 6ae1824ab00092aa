#!/usr/bin/env python3
"""The data types of Cairn beside Redis with AOF at the same durability, on this machine, in one run.

redis-benchmark drives both in turn: 50 connections, 1,000 keys of each type with random elements of
100 bytes, pipeline 1 and 32. Printed are medians over the rounds and the ratio Cairn / Redis; on a
noisy machine only the ratio means something. What the servers hold afterwards is checked against what
was sent. JSON.NUMINCRBY of Cairn stands beside HINCRBY of Redis, which has no JSON.

  bench/data/run.py                    both durabilities
  bench/data/run.py --rounds 1 --durability sync --test zadd
  bench/data/run.py --against BINARY   beside another build of Cairn instead of Redis: before and after
  bench/data/run.py --large            Cairn alone, with ten times the data its memory may hold, and with
                                       ten million small keys
"""

import argparse
import csv
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from servers import PAIRS, add_against, print_ratios, start_cairn, start_peer  # noqa: E402  (found through the line above)

CONNECTIONS = 50
KEYS = 1_000  # of each type; also the range of random fields
VALUE = "v" * 100
KEY = object()
RANDOM = "__rand_int__"  # redis-benchmark puts 12 digits below KEYS in each place
REQUESTS = {1: 60_000, 32: 500_000}
LIST_LENGTH = 1_000  # before the first LPOP, so that it never finds an empty list
SCRIPT = "return redis.call('INCRBY', KEYS[1], ARGV[1])"
DOCUMENT = '{"name":"event","n":0,"stats":{"available":1000,"reserved":0,"sold":0}}'

# The value cache, the block cache and the write buffers together; the data set is ten times that.
LARGE_MEMORY_MIB = 128
LARGE_VALUE_BYTES = 1_000
# Half of the records are fields of hashes, as many in each as there are hashes.
LARGE_HASHES = math.isqrt(10 * LARGE_MEMORY_MIB * 1024 * 1024 // LARGE_VALUE_BYTES // 2) + 1
# What may come on top of the memory setting: code, threads, connections, open files, the allocator.
LARGE_ON_TOP_MIB = 96
LARGE_BATCH = 1_000  # records sent at once to fill it
LARGE_REQUESTS = {1: 50_000, 32: 200_000}

# Keys so small that filters and indexes are much of what is stored.
SMALL_MEMORY_MIB = 256
SMALL_KEYS = 10_000_000
SMALL_VALUE_BYTES = 20
SMALL_FILLS = 5  # shown one by one: as the keys become more, the rate must not collapse
# The last fill runs at this part of the first one's rate at least: what is written is compacted meanwhile.
SMALL_LEAST_RATIO = 0.2


class Test:
    """A command under load, and how to ask one of its keys what has arrived."""

    def __init__(self, prefix, command, count, read=lambda reply: int(reply or 0), cells=None):
        self.prefix = prefix  # of its keys
        self.command = command
        self.count = count  # with KEY in the place of the key
        self.read = read  # from the reply to `count` to a number
        self.cells = cells  # how many different elements a request may hit; None: each one counts


def key(prefix, number=None):
    return f"{prefix}:{RANDOM if number is None else format(number, '012')}"


def make_tests(server_name, script):
    element = f"{RANDOM}:{RANDOM}"
    tests = {
        "hset": Test("hash", ["HSET", key("hash"), RANDOM, VALUE], ["HLEN", KEY],
                     cells=KEYS * KEYS),
        "zadd": Test("zset", ["ZADD", key("zset"), RANDOM, element], ["ZCARD", KEY],
                     cells=KEYS ** 3),
        "sadd": Test("set", ["SADD", key("set"), element], ["SCARD", KEY], cells=KEYS ** 3),
        "lpush": Test("list", ["LPUSH", key("list"), VALUE], ["LLEN", KEY]),
        "lpop": Test("list", ["LPOP", key("list")], ["LLEN", KEY]),
        "xadd": Test("stream", ["XADD", key("stream"), "MAXLEN", "~", "1000", "*", "f", VALUE],
                     ["XINFO", "STREAM", KEY],
                     read=lambda reply: reply[reply.index(b"entries-added") + 1]),
        "evalsha": Test("eval", ["EVALSHA", script, "1", key("eval"), "1"], ["GET", KEY]),
        "numincrby": Test("count", ["HINCRBY", key("count"), "n", "1"], ["HGET", KEY, "n"]),
    }
    if server_name != "redis":
        tests["numincrby"] = Test("count", ["JSON.NUMINCRBY", key("count"), "$.n", "1"],
                                  ["JSON.GET", KEY, "$.n"], read=lambda reply: json.loads(reply)[0])
    return tests


def run_benchmark(server, command, pipeline, requests, keys=KEYS):
    """Requests per second and the 99th percentile of latency in ms, as redis-benchmark counts."""
    arguments = ["redis-benchmark", "-h", "127.0.0.1", "-p", server.port, "-c", CONNECTIONS, "-r", keys,
                 "-n", requests, "-P", pipeline, "--csv", *command]
    run = subprocess.run([str(part) for part in arguments], capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(f"{server.name}: {' '.join(command)}: {run.stdout}{run.stderr}")
    row = list(csv.reader(run.stdout.strip().splitlines()))[-1]
    return float(row[1]), float(row[6])


def prepare(server):
    """Lists to pop from, documents to count in, the script; returns the script's name."""
    lists = [("RPUSH", key("list", n), *[VALUE] * LIST_LENGTH) for n in range(KEYS)]
    for start in range(0, KEYS, 100):
        server.pipeline(lists[start:start + 100])
    if server.name != "redis":
        server.pipeline([("JSON.SET", key("count", n), "$", DOCUMENT) for n in range(KEYS)])
    return server.command("SCRIPT", "LOAD", SCRIPT).decode()


def expected_distinct(cells, draws):
    return cells * (1 - (1 - 1 / cells) ** draws)


def check(server, tests, sent):
    """What the keys hold is what was sent: exactly, or within 1 % where elements may repeat."""
    expected = {name: sent.get(name, 0) for name in tests}
    expected["lpush"] += KEYS * LIST_LENGTH - sent.get("lpop", 0)
    del expected["lpop"]  # the lists are those of lpush
    for name, wanted in expected.items():
        test, slack = tests[name], 0
        if wanted == 0:
            continue
        if test.cells:
            wanted = expected_distinct(test.cells, wanted)
            slack = wanted / 100
        counts = [[key(test.prefix, n) if part is KEY else part for part in test.count]
                  for n in range(KEYS)]
        total = sum(test.read(reply) for reply in server.pipeline(counts))
        if abs(total - wanted) > slack:
            raise SystemExit(f"{server.name}: {name}: {total} counted, {wanted:.0f} expected")


def run_pair(durability, rounds, names, against=None):
    results, sent, servers = {}, {}, []
    directory = tempfile.mkdtemp(prefix="cairn-bench-")
    try:
        for name in ("peer", "cairn"):
            os.mkdir(os.path.join(directory, name))
        servers.append(start_peer(os.path.join(directory, "peer"), durability, against))
        servers.append(start_cairn(os.path.join(directory, "cairn"), durability))
        tests = {server.name: make_tests(server.name, prepare(server)) for server in servers}
        time.sleep(3)  # leftover compaction would distort what is measured first
        for _ in range(rounds):
            for pipeline, requests in REQUESTS.items():
                for name in names:
                    servers.reverse()  # in turn, so that neither always comes first
                    for server in servers:
                        command = tests[server.name][name].command
                        rate, _ = run_benchmark(server, command, pipeline, requests)
                        results.setdefault((name, pipeline, server.name), []).append(rate)
                    sent[name] = sent.get(name, 0) + requests
        for server in servers:
            check(server, tests[server.name], sent)
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(directory, ignore_errors=True)
    return results


class PeakMemory:
    """Watches the resident memory of a process; `mib` is the most it was seen to hold."""

    def __init__(self, pid):
        self.pid = pid
        self.mib = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.ended.wait(0.1):
            with open(f"/proc/{self.pid}/statm", encoding="ascii") as file:
                pages = int(file.read().split()[1])
            self.mib = max(self.mib, pages * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024)

    def stop(self):
        self.ended.set()
        self.thread.join()


def fill(server, hashes):
    """As many strings as fields, of bytes that do not compress; returns records per second."""
    noise = random.Random(1).randbytes(4 * 1024 * 1024)
    start, batch = time.monotonic(), []
    for n in range(hashes * hashes):
        at = n * 7919 % (len(noise) - LARGE_VALUE_BYTES)
        value = noise[at:at + LARGE_VALUE_BYTES]
        batch.append(("SET", key("string", n), value))
        batch.append(("HSET", key("hash", n // hashes), f"{n % hashes:012}", value))
        if len(batch) == LARGE_BATCH or n == hashes * hashes - 1:
            server.pipeline(batch)
            batch = []
    return 2 * hashes * hashes / (time.monotonic() - start)


def check_large(server, hashes):
    strings = hashes * hashes
    if server.command("DBSIZE") != strings + hashes:
        raise SystemExit(f"{server.command('DBSIZE')} keys, expected {strings + hashes}")
    fields = server.pipeline([("HLEN", key("hash", n)) for n in range(hashes)])
    if set(fields) != {hashes}:
        raise SystemExit(f"hashes of {min(fields)} to {max(fields)} fields, expected {hashes}")
    sample = random.Random(2).sample(range(strings), 1000)
    lengths = server.pipeline([("STRLEN", key("string", n)) for n in sample])
    if set(lengths) != {LARGE_VALUE_BYTES}:
        raise SystemExit(f"values of other lengths than {LARGE_VALUE_BYTES}: {set(lengths)}")


def run_large(durability, hashes):
    directory = tempfile.mkdtemp(prefix="cairn-bench-")
    server = start_cairn(directory, durability, ["--memory", f"{LARGE_MEMORY_MIB}MiB"])
    memory = PeakMemory(server.process.pid)
    try:
        size_mib = 2 * hashes * hashes * LARGE_VALUE_BYTES / 1024 / 1024
        print(f"\nCairn {durability}, {size_mib:,.0f} MiB of data, memory {LARGE_MEMORY_MIB} MiB, "
              f"{CONNECTIONS} connections, {LARGE_VALUE_BYTES:,}-byte values")
        print(f"{'test':12} {'pipeline':>8} {'Cairn/s':>12} {'p99 ms':>10} {'peak MiB':>9}")
        rate = fill(server, hashes)
        print(f"{'fill':12} {LARGE_BATCH:8} {rate:12,.0f} {'':10} {memory.mib:9,.0f}", flush=True)
        new_value = "w" * LARGE_VALUE_BYTES
        for pipeline, requests in LARGE_REQUESTS.items():
            for name, command, keys in [
                    ("get", ["GET", key("string")], hashes * hashes),
                    ("set", ["SET", key("string"), new_value], hashes * hashes),
                    ("hget", ["HGET", key("hash"), RANDOM], hashes),
                    ("hset", ["HSET", key("hash"), RANDOM, new_value], hashes)]:
                rate, p99 = run_benchmark(server, command, pipeline, requests, keys)
                print(f"{name:12} {pipeline:8} {rate:12,.0f} {p99:10.2f} {memory.mib:9,.0f}", flush=True)
        check_large(server, hashes)
    finally:
        memory.stop()
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)
    bound = LARGE_MEMORY_MIB + LARGE_ON_TOP_MIB
    if memory.mib > bound:
        raise SystemExit(f"resident memory reached {memory.mib:.0f} MiB, more than {bound}")
    print(f"resident memory stayed within {bound} MiB")


def fill_small(server, first, last):
    """Sets the keys from first to before last, in an order that jumps about; records per second."""
    start, batch = time.monotonic(), []
    for n in range(first, last):
        # A permutation of all keys: 7,919 and ten million have no common divisor.
        batch.append(("SET", key("small", n * 7_919 % SMALL_KEYS), b"v" * SMALL_VALUE_BYTES))
        if len(batch) == LARGE_BATCH or n == last - 1:
            server.pipeline(batch)
            batch = []
    return (last - first) / (time.monotonic() - start)


def run_small(durability):
    directory = tempfile.mkdtemp(prefix="cairn-bench-")
    server = start_cairn(directory, durability, ["--memory", f"{SMALL_MEMORY_MIB}MiB"])
    memory = PeakMemory(server.process.pid)
    try:
        print(f"\nCairn {durability}, {SMALL_KEYS:,} keys of {SMALL_VALUE_BYTES} bytes, memory "
              f"{SMALL_MEMORY_MIB} MiB, {CONNECTIONS} connections")
        print(f"{'test':12} {'pipeline':>8} {'Cairn/s':>12} {'p99 ms':>10} {'peak MiB':>9}")
        step, rates = SMALL_KEYS // SMALL_FILLS, []
        for first in range(0, SMALL_KEYS, step):
            rates.append(fill_small(server, first, first + step))
            print(f"{'fill':12} {LARGE_BATCH:8} {rates[-1]:12,.0f} {'':10} {memory.mib:9,.0f}", flush=True)
        for pipeline, requests in LARGE_REQUESTS.items():
            for name, command in [("get", ["GET", key("small")]),
                                  ("set", ["SET", key("small"), "w" * SMALL_VALUE_BYTES]),
                                  ("set new", ["SET", key("new"), "w" * SMALL_VALUE_BYTES])]:
                rate, p99 = run_benchmark(server, command, pipeline, requests, SMALL_KEYS)
                print(f"{name:12} {pipeline:8} {rate:12,.0f} {p99:10.2f} {memory.mib:9,.0f}", flush=True)
        lengths = server.pipeline([("STRLEN", key("small", n)) for n in range(0, SMALL_KEYS, 9_973)])
        if set(lengths) != {SMALL_VALUE_BYTES}:
            raise SystemExit(f"values of other lengths than {SMALL_VALUE_BYTES}: {set(lengths)}")
    finally:
        memory.stop()
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)
    bound = SMALL_MEMORY_MIB + LARGE_ON_TOP_MIB
    if memory.mib > bound:
        raise SystemExit(f"resident memory reached {memory.mib:.0f} MiB, more than {bound}")
    if rates[-1] < SMALL_LEAST_RATIO * rates[0]:
        raise SystemExit(f"the rate fell from {rates[0]:,.0f}/s to {rates[-1]:,.0f}/s")
    print(f"resident memory stayed within {bound} MiB")


def main():
    names = list(make_tests("redis", ""))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--durability", choices=PAIRS, action="append")
    parser.add_argument("--test", choices=names, action="append")
    add_against(parser)
    parser.add_argument("--json", help="also write the raw figures to this file")
    parser.add_argument("--large", action="store_true",
                        help="Cairn alone, with ten times the data its memory may hold, and with ten "
                             "million small keys")
    arguments = parser.parse_args()
    if arguments.large:
        for durability in arguments.durability or ["interval"]:
            run_large(durability, LARGE_HASHES)
            run_small(durability)
        return
    raw = {}
    for durability in arguments.durability or PAIRS:
        chosen = arguments.test or names
        results = run_pair(durability, arguments.rounds, chosen, arguments.against)
        print_ratios(f"{CONNECTIONS} connections, {len(VALUE)}-byte values, {KEYS:,} keys of each type",
                     durability, results, arguments.against)
        raw[durability] = {" ".join(map(str, key)): value for key, value in results.items()}
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(raw, file, indent=1)


if __name__ == "__main__":
    main()
