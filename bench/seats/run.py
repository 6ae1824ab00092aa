#!/usr/bin/env python3
"""Sells out a house of 50,000 seats, on Cairn and on Redis with AOF always, and checks every seat.

10 sections of 10 subsections of 25 x 20 seats, one seat per request, best available, every reply
durable. Cairn serves SEAT.RESERVE over pipelined RESP and POST /v1/events/ID/bookings over
keep-alive HTTP. Redis does the same work by the pattern of systems that are built on it: one writer
per subsection, which finds a seat by a Lua script and takes it by MULTI/EXEC with BITFIELD, counters
in hashes, a booking hash and the sellout timer. bench_seats (seat_load.cc) is the client of all three.

Then the cost of a reservation as events grow, and as there are more of them.

  bench/seats/run.py                    everything
  bench/seats/run.py --rounds 3         medians
  bench/seats/run.py --only sellout     or: sizes, events
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from servers import ROOT, free_port, start_cairn, start_redis  # noqa: E402  (found through the line above)

LOAD = os.environ.get("BENCH_SEATS", os.path.join(ROOT, "build", "bench", "bench_seats"))
NAMES = "ABCDEFGHIJ"
SECTIONS = [f"{name}-{number}" for name in NAMES for number in range(1, 11)]
SEATS = 50_000
CONNECTIONS = 64
REQUESTS = 20_000  # of the tables


def definition(sections):
    """sections: (name, subsections, rows, cols)"""
    return json.dumps({"hold_seconds": 7200, "sections": [
        {"name": name, "subsections": subsections, "rows": rows, "cols": cols, "price": 1000}
        for name, subsections, rows, cols in sections]})


def load(mode, port, **options):
    command = [LOAD, mode, str(port)]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise SystemExit(f"{' '.join(command[:3])}: {run.stderr}{run.stdout}")
    result = json.loads(run.stdout)
    if result["failed"]:
        raise SystemExit(f"{mode}: {result['failed']} requests failed: {run.stderr}")
    return result


def check(result, seats):
    """Every request got a seat, and no two the same one."""
    if result["seats"] != seats or result["doubled"]:
        raise SystemExit(f"{result['seats']} distinct seats, {result['doubled']} given twice")


class Cairn:
    def __init__(self, directory):
        self.http_port = free_port()
        self.server = start_cairn(directory, "sync", http_port=self.http_port)
        self.port = self.server.port

    def create(self, event, text, events=1):
        load("create", self.port, event=event, events=events, definition=text, pipeline=8)

    def verify(self, event):
        with urllib.request.urlopen(
                f"http://127.0.0.1:{self.http_port}/v1/events/{event}/verify") as reply:
            report = json.load(reply)
        if not report["sound"]:
            raise SystemExit(f"{event}: {report['problems']}")
        return report

    def stop(self):
        self.server.stop()


def sell_out_cairn(cairn, mode, round_number, pipeline):
    event = f"{mode}{round_number}"
    cairn.create(event, definition([(name, 10, 25, 20) for name in NAMES]))
    result = load(mode, cairn.port if mode == "resp" else cairn.http_port, event=event, tag=f"{event}.",
                  sections=",".join(SECTIONS), requests=SEATS, connections=CONNECTIONS,
                  pipeline=pipeline)
    check(result, SEATS)
    if cairn.verify(event)["seats"]["reserved"] != SEATS:
        raise SystemExit(f"{event} is not sold out")
    return result


def sell_out_redis(directory):
    server = start_redis(directory, "always")
    try:
        stats = ["available", 500, "reserved", 0, "sold", 0, "total", 500]
        server.pipeline([("SETBIT", f"seats_bf:e:{section}", 999, 0) for section in SECTIONS] +
                        [("HSET", f"section_stats:e:{section}", *stats) for section in SECTIONS] +
                        [("HSET", "event_stats:e", "available", SEATS, "reserved", 0)])
        result = load("redis", server.port, event="e", sections=",".join(SECTIONS), requests=SEATS,
                      connections=CONNECTIONS)
        check(result, SEATS)
        if server.command("HGET", "event_stats:e", "reserved") != str(SEATS).encode():
            raise SystemExit("redis: the counters do not agree")
        return result
    finally:
        server.stop()


def row(name, results, base=None):
    rate = statistics.median(result["per_second"] for result in results)
    p50 = statistics.median(result["p50_ms"] for result in results)
    p99 = statistics.median(result["p99_ms"] for result in results)
    ratio = f"{rate / base:9.2f}" if base else " " * 9
    print(f"{name:34} {rate:12,.0f} {p50:9.2f} {p99:9.2f} {ratio}", flush=True)
    return rate


def header(title, first):
    print(f"\n{title}\n{first:34} {'per second':>12} {'p50 ms':>9} {'p99 ms':>9} {'ratio':>9}", flush=True)


def sellout(arguments, directory):
    header(f"Sell-out of {SEATS:,} seats, {CONNECTIONS} connections, every reply durable", "")
    redis, resp, http = [], [], []
    for number in range(arguments.rounds):
        for name in ("redis", "cairn"):
            os.mkdir(os.path.join(directory, f"{name}{number}"))
        redis.append(sell_out_redis(os.path.join(directory, f"redis{number}")))
        cairn = Cairn(os.path.join(directory, f"cairn{number}"))
        try:
            resp.append(sell_out_cairn(cairn, "resp", number, arguments.pipeline))
            http.append(sell_out_cairn(cairn, "http", number, 1))
        finally:
            cairn.stop()
    base = row("Redis, script and MULTI/EXEC", redis)
    row(f"Cairn, RESP, pipeline {arguments.pipeline}", resp, base)
    row("Cairn, HTTP", http, base)


def sizes(arguments, directory):
    header(f"{REQUESTS:,} reservations over RESP, by seats per event", "seats, layout")
    os.mkdir(os.path.join(directory, "sizes"))
    cairn = Cairn(os.path.join(directory, "sizes"))
    try:
        base = None
        for seats in (1_000, 10_000, 100_000, 1_000_000):
            events = max(1, REQUESTS // seats)
            event = f"s{seats}x"
            cairn.create(event, definition([("A", seats // 500, 25, 20)]), events)
            sections = ",".join(f"A-{n}" for n in range(1, seats // 500 + 1))
            result = load("resp", cairn.port, event=event, events=events, tag=event, sections=sections,
                          requests=REQUESTS, connections=CONNECTIONS, pipeline=arguments.pipeline)
            check(result, REQUESTS)
            rate = row(f"{seats:,} in {seats // 500:,} sections", [result], base)
            base = base or rate
        for rows, cols in ((100, 100), (250, 400), (1000, 1000)):
            event = f"one{rows}x"
            events = max(1, REQUESTS // (rows * cols))
            cairn.create(event, definition([("A", 1, rows, cols)]), events)
            result = load("resp", cairn.port, event=event, events=events, tag=event, sections="A-1",
                          requests=REQUESTS, connections=CONNECTIONS, pipeline=arguments.pipeline)
            check(result, REQUESTS)
            row(f"{rows * cols:,} in one section", [result], base)
    finally:
        cairn.stop()


def many_events(arguments, directory):
    header(f"{REQUESTS:,} reservations over RESP, by number of events", "events")
    os.mkdir(os.path.join(directory, "events"))
    cairn = Cairn(os.path.join(directory, "events"))
    try:
        base = None
        for events in (1, 10, 100, 1_000, 10_000):
            event = f"n{events}x"
            subsections = max(1, REQUESTS // events // 500)
            cairn.create(event, definition([("A", subsections, 25, 20)]), events)
            sections = ",".join(f"A-{n}" for n in range(1, subsections + 1))
            result = load("resp", cairn.port, event=event, events=events, tag=event, sections=sections,
                          requests=REQUESTS, connections=CONNECTIONS, pipeline=arguments.pipeline)
            check(result, REQUESTS)
            rate = row(f"{events:,}", [result], base)
            base = base or rate
    finally:
        cairn.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--pipeline", type=int, default=4)
    parser.add_argument("--only", choices=("sellout", "sizes", "events"))
    arguments = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="cairn-bench-seats-")
    try:
        for name, part in (("sellout", sellout), ("sizes", sizes), ("events", many_events)):
            if arguments.only in (None, name):
                part(arguments, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
