#!/usr/bin/env python3
"""Cairn beside Redis with AOF at the same durability, on this machine, in one run.

redis-benchmark drives both in turn: 50 connections, 100-byte values, 1 million random keys, pipeline
1 and 32. Printed are medians over the rounds and the ratio Cairn / Redis; on a noisy machine only
the ratio means something. What the servers hold afterwards is checked against what was sent.

  bench/kv/run.py                    both durabilities
  bench/kv/run.py --rounds 3 --durability sync
"""

import argparse
import csv
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KEYS = 1_000_000
CONNECTIONS = 50
VALUE_BYTES = 100
# Cairn's durability and Redis's appendfsync that promises the same.
PAIRS = {"sync": "always", "interval": "everysec"}
TESTS = ["ping_mbulk", "set", "get", "incr"]
REQUESTS = {1: 100_000, 32: 1_000_000}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server process of this benchmark, in a directory of its own."""

    def __init__(self, name, command, directory, port):
        self.name = name
        self.port = port
        self.directory = directory
        self.log = open(os.path.join(directory, "log"), "wb")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, cwd=directory)
        for _ in range(300):
            try:
                if self.command("PING") == b"PONG":
                    return
            except OSError:
                time.sleep(0.1)
        raise SystemExit(f"{name} did not start; see {directory}/log")

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.log.close()

    def command(self, *arguments):
        return self.pipeline([arguments])[0]

    def pipeline(self, commands):
        request = b"".join(encode(command) for command in commands)
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(request)
            stream = connection.makefile("rb")
            return [decode(stream) for _ in commands]


def encode(command):
    parts = [part if isinstance(part, bytes) else str(part).encode() for part in command]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)


def decode(stream):
    line = stream.readline()
    kind, rest = line[:1], line[1:-2]
    if kind == b"+":
        return rest
    if kind == b"-":
        raise SystemExit(f"error reply: {rest.decode()}")
    if kind == b":":
        return int(rest)
    if kind == b"$":
        length = int(rest)
        return None if length < 0 else stream.read(length + 2)[:-2]
    if kind == b"*":
        return [decode(stream) for _ in range(int(rest))]
    raise SystemExit(f"unexpected reply: {line!r}")


def start_redis(directory, fsync):
    port = free_port()
    command = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", directory,
               "--save", "", "--appendonly", "yes", "--appendfsync", fsync,
               "--auto-aof-rewrite-percentage", "0"]
    return Server("redis", [str(part) for part in command], directory, port)


def start_cairn(directory, durability):
    port = free_port()
    command = [os.path.join(ROOT, "build", "cairn"), "serve", "--data", os.path.join(directory, "data"),
               "--resp", f"127.0.0.1:{port}", "--http", "127.0.0.1:0", "--durability", durability]
    return Server("cairn", command, directory, port)


def run_benchmark(server, test, pipeline, requests):
    """Requests per second, as redis-benchmark counts them."""
    command = ["redis-benchmark", "-h", "127.0.0.1", "-p", server.port, "-c", CONNECTIONS,
               "-d", VALUE_BYTES, "-r", KEYS, "-n", requests, "-P", pipeline, "-t", test, "--csv"]
    output = subprocess.run([str(part) for part in command], check=True, capture_output=True,
                            text=True).stdout
    rows = list(csv.reader(output.strip().splitlines()))
    return float(rows[-1][1])


def check(server, increments):
    """Every INCR that was answered is in the counters, and every value has its length."""
    keys = server.command("KEYS", "counter:*")
    total = 0
    for start in range(0, len(keys), 1000):
        total += sum(int(value) for value in server.command("MGET", *keys[start:start + 1000]))
    if total != increments:
        raise SystemExit(f"{server.name}: counters add up to {total}, sent were {increments}")
    length = server.command("STRLEN", server.command("RANDOMKEY"))
    if server.command("DBSIZE") < KEYS // 2 or length == 0:
        raise SystemExit(f"{server.name}: keys are missing")


def run_pair(durability, rounds, tests):
    results = {}
    directory = tempfile.mkdtemp(prefix="cairn-bench-")
    servers = []
    try:
        for name in ("redis", "cairn"):
            os.mkdir(os.path.join(directory, name))
        servers = [start_redis(os.path.join(directory, "redis"), PAIRS[durability]),
                   start_cairn(os.path.join(directory, "cairn"), durability)]
        increments = 0
        for server in servers:
            run_benchmark(server, "set", 32, 2 * KEYS)
            run_benchmark(server, "incr", 32, 2 * KEYS)
        increments += 2 * KEYS
        time.sleep(3)  # leftover compaction would distort what is measured first
        for _ in range(rounds):
            for pipeline, requests in REQUESTS.items():
                for test in tests:
                    for server in servers:
                        rate = run_benchmark(server, test, pipeline, requests)
                        results.setdefault((test, pipeline, server.name), []).append(rate)
                    if test == "incr":
                        increments += requests
        for server in servers:
            check(server, increments)
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(directory, ignore_errors=True)
    return results


def print_table(durability, results, tests):
    print(f"\nCairn {durability} beside Redis appendfsync {PAIRS[durability]}: "
          f"{CONNECTIONS} connections, {VALUE_BYTES}-byte values, {KEYS:,} random keys")
    print(f"{'test':12} {'pipeline':>8} {'Redis/s':>12} {'Cairn/s':>12} {'ratio':>7}   spread of ratios")
    for pipeline in REQUESTS:
        for test in tests:
            redis = results[(test, pipeline, "redis")]
            cairn = results[(test, pipeline, "cairn")]
            ratios = sorted(c / r for c, r in zip(cairn, redis))
            print(f"{test:12} {pipeline:8} {statistics.median(redis):12,.0f} "
                  f"{statistics.median(cairn):12,.0f} {statistics.median(ratios):7.2f}   "
                  f"{ratios[0]:.2f} to {ratios[-1]:.2f}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--durability", choices=PAIRS, action="append")
    parser.add_argument("--test", choices=TESTS, action="append")
    parser.add_argument("--json", help="also write the raw figures to this file")
    arguments = parser.parse_args()
    tests = arguments.test or TESTS
    raw = {}
    for durability in arguments.durability or PAIRS:
        results = run_pair(durability, arguments.rounds, tests)
        print_table(durability, results, tests)
        raw[durability] = {" ".join(map(str, key)): value for key, value in results.items()}
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(raw, file, indent=1)


if __name__ == "__main__":
    main()
