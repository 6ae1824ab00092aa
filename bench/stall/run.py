#!/usr/bin/env python3
"""What other connections notice of large commands: the time of PING while one of them runs.

One server with one event loop. For each command a connection sends PING after PING while another runs
the command; printed are the command's time and the median, the 99th percentile and the largest time of
a PING. With --writes the other connection sends SET instead, whose commit goes the same way as that of
the large command. A script that runs for long makes the server answer BUSY, as Redis does; the last column
counts those answers. They are timed like the others.

At a million members it writes some hundred megabytes in one transaction, so the server is started with limits that
allow it; it takes up to 8 GB of memory.

  bench/stall/run.py
  bench/stall/run.py --members 100000 --test zunionstore
"""

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from servers import decode, encode, start_cairn  # noqa: E402  (found through the line above)

import socket  # noqa: E402

BATCH = 1_000
# Enough for BITOP on 512 MB, which writes as much, and for SMEMBERS of a million.
LIMITS = ("--memory", "4GiB", "--limits-transaction", "2GiB", "--limits-reply", "1GiB", "--limits-buffers", "4GiB")


def connect(server):
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=600)
    return connection, connection.makefile("rb")


def run(server, command):
    connection, stream = connect(server)
    with connection:
        connection.sendall(encode(command))
        return decode(stream)


def refusal_of(server, command):
    """Runs the command. Returns why it was refused, or None."""
    try:
        run(server, command)
    except SystemExit as refusal:
        return str(refusal)
    return None


def fill(server, members, string_bytes):
    for start in range(0, members, BATCH):
        numbers = range(start, min(start + BATCH, members))
        pairs = [part for n in numbers for part in (n, f"m{n}")]
        server.pipeline([("SADD", "set", *[f"m{n}" for n in numbers]),
                         ("ZADD", "zset", *pairs),
                         ("SADD", "other", *[f"o{n}" for n in numbers])])
    chunk = random.Random(1).randbytes(1 << 20)
    for offset in range(0, string_bytes, len(chunk)):
        run(server, ("SETRANGE", "string", offset, chunk))


def tests(members):
    numbers = "[" + ",".join(str(n) for n in range(700_000)) + "]"
    return {
        "bitop": ("BITOP", "NOT", "target", "string"),
        "json.set": ("JSON.SET", "json", "$", numbers),
        "sunionstore": ("SUNIONSTORE", "target", "set", "other"),
        "zunionstore": ("ZUNIONSTORE", "target", 1, "zset"),
        "zrangestore": ("ZRANGESTORE", "target", "zset", 0, -1),
        "copy": ("COPY", "zset", "target", "REPLACE"),
        "smembers": ("SMEMBERS", "set"),
        "pattern": ("EVAL", "string.find(string.rep('x', 3000), '.-.-.-b')", 0),
        "script": ("EVAL", "for i = 1, 2e8 do end", 0),
        "spop": ("SPOP", "set", members - 1),
    }


def measure(server, command, probe):
    refusals = []
    done = threading.Event()

    def execute():
        refusals.append(refusal_of(server, command))
        done.set()

    times = []
    busy = 0
    connection, stream = connect(server)
    with connection:
        request = encode(probe)
        begin = time.perf_counter()
        thread = threading.Thread(target=execute)
        thread.start()
        while not done.is_set():
            sent = time.perf_counter()
            connection.sendall(request)
            reply = stream.readline()
            times.append(time.perf_counter() - sent)
            busy += reply.startswith(b"-BUSY")
            if not reply.startswith((b"+", b"-BUSY")):
                raise SystemExit(f"{probe[0]} was answered with {reply!r}")
            time.sleep(0.0005)
        took = time.perf_counter() - begin
        thread.join()
    return took, sorted(times), busy, refusals[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=1_000_000)
    parser.add_argument("--string-mib", type=int, default=512)
    parser.add_argument("--writes", action="store_true", help="SET instead of PING")
    parser.add_argument("--test", action="append", choices=tests(0))
    arguments = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="cairn-bench-")
    server = start_cairn(directory, "interval", ("--io-threads", "1", *LIMITS))
    try:
        fill(server, arguments.members, arguments.string_mib << 20)
        probe = ("SET", "probe", "v") if arguments.writes else ("PING",)
        print(f"{'command':<12} {'ran ms':>8} {probe[0] + 's':>7} {'p50 ms':>7} {'p99 ms':>7} {'max ms':>7} {'BUSY':>5}")
        for name, command in tests(arguments.members).items():
            if arguments.test and name not in arguments.test:
                continue
            took, times, busy, refusal = measure(server, command, probe)
            p99 = times[int(len(times) * 0.99)]
            print(f"{name:<12} {took * 1e3:8.0f} {len(times):7} {statistics.median(times) * 1e3:7.2f} "
                  f"{p99 * 1e3:7.2f} {times[-1] * 1e3:7.2f} {busy:5}")
            if refusal:
                print(f"  {refusal}")
    finally:
        server.stop()
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
