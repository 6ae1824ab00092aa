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
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from servers import PAIRS, add_against, print_ratios, start_cairn, start_peer  # noqa: E402  (found through the line above)

KEYS = 1_000_000
CONNECTIONS = 50
VALUE_BYTES = 100
TESTS = ["ping_mbulk", "set", "get", "incr"]
REQUESTS = {1: 100_000, 32: 1_000_000}


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


def run_pair(durability, rounds, tests, against=None):
    results = {}
    directory = tempfile.mkdtemp(prefix="cairn-bench-")
    servers = []
    try:
        for name in ("peer", "cairn"):
            os.mkdir(os.path.join(directory, name))
        servers = [start_peer(os.path.join(directory, "peer"), durability, against),
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
                    servers.reverse()  # in turn, so that neither always comes first
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--durability", choices=PAIRS, action="append")
    parser.add_argument("--test", choices=TESTS, action="append")
    add_against(parser)
    parser.add_argument("--json", help="also write the raw figures to this file")
    arguments = parser.parse_args()
    tests = arguments.test or TESTS
    raw = {}
    for durability in arguments.durability or PAIRS:
        results = run_pair(durability, arguments.rounds, tests, arguments.against)
        print_ratios(f"{CONNECTIONS} connections, {VALUE_BYTES}-byte values, {KEYS:,} random keys",
                     durability, results, arguments.against)
        raw[durability] = {" ".join(map(str, key)): value for key, value in results.items()}
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(raw, file, indent=1)


if __name__ == "__main__":
    main()
