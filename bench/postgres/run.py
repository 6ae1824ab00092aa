#!/usr/bin/env python3
"""Cairn on PostgreSQL beside pgbench on the same server, on this machine, in one run.

A private PostgreSQL cluster that syncs, with its default settings otherwise. pgbench (built-in scripts
simple-update and select-only, prepared statements) and Cairn (redis-benchmark: SET and GET of 100-byte
values, as many keys as pgbench has rows) take turns with the same number of connections. Printed are
medians over the rounds and the ratio to pgbench's transactions; on a noisy machine only the ratio means
something. With two nodes, each serves half of the connections. What Cairn holds afterwards is checked.

  bench/postgres/run.py
  bench/postgres/run.py --rounds 3 --seconds 5
"""

import argparse
import csv
import os
import pwd
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from servers import CAIRN, Server, free_port  # noqa: E402  (found through the line above)

PROGRAMS = "/usr/lib/postgresql/15/bin"
CONNECTIONS = 50
VALUE_BYTES = 100
KEYS = 100_000  # rows of pgbench_accounts at scale 1
# Each run lasts seconds: with two nodes the time its clients take to start counts as well.
REQUESTS = {("set", 1): 20_000, ("set", 32): 120_000, ("get", 1): 120_000, ("get", 32): 400_000}
SCRIPTS = {"set": "simple-update", "get": "select-only"}
WANTED = {("set", 1): 0.5, ("set", 32): 3.0, ("get", 1): 0.7}


class Cluster:
    """PostgreSQL in a directory of its own, run as user postgres by root, as it refuses root."""

    def __init__(self, directory):
        self.directory = directory
        self.port = free_port()
        self.as_user = []
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(directory, user.pw_uid, user.pw_gid)
            self.as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups",
                            "--pdeathsig=KILL", "--"]
        data = os.path.join(directory, "data")
        self.run([f"{PROGRAMS}/initdb", "--pgdata", data, "--username=cairn", "--auth=trust",
                  "--no-locale", "--encoding=UTF8", "--no-instructions"])
        # Room for the sessions of pgbench and of two nodes.
        settings = [f"port={self.port}", "listen_addresses=127.0.0.1", "max_connections=200",
                    f"unix_socket_directories={directory}", "shared_buffers=128MB"]
        command = [f"{PROGRAMS}/postgres", "-D", data]
        for setting in settings:
            command += ["-c", setting]
        self.log = open(os.path.join(directory, "log"), "wb")
        self.process = subprocess.Popen(self.as_user + command, stdout=self.log, stderr=self.log,
                                        cwd=directory)
        for _ in range(300):
            if subprocess.run([f"{PROGRAMS}/pg_isready", "-q", "-h", directory, "-p",
                               str(self.port)], check=False).returncode == 0:
                return
            time.sleep(0.1)
        raise SystemExit(f"PostgreSQL did not start; see {directory}/log")

    def run(self, command):
        return subprocess.run(self.as_user + command, check=True, capture_output=True, text=True,
                              cwd=self.directory).stdout

    def pgbench(self, *arguments):
        return self.run([f"{PROGRAMS}/pgbench", "-h", self.directory, "-p", str(self.port), "-U",
                         "cairn", *arguments, "postgres"])

    def url(self):
        return f"postgres:///postgres?host={self.directory}&port={self.port}&user=cairn"

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.log.close()


def start_node(cluster, directory):
    port = free_port()
    return Server("cairn", [CAIRN, "serve", "--store", cluster.url(), "--resp", f"127.0.0.1:{port}",
                            "--http", "127.0.0.1:0"], directory, port)


def run_pgbench(cluster, test, seconds):
    """Transactions per second."""
    output = cluster.pgbench("-c", str(CONNECTIONS), "-j", "2", "-M", "prepared", "-n", "-b",
                             SCRIPTS[test], "-T", str(seconds))
    return float(re.search(r"tps = ([0-9.]+)", output).group(1))


def run_cairn(nodes, test, pipeline):
    """Requests per second over all nodes, which share the connections and the requests."""
    started = time.monotonic()
    requests = REQUESTS[(test, pipeline)]
    clients = []
    for node in nodes:
        command = ["redis-benchmark", "-h", "127.0.0.1", "-p", node.port, "-c",
                   CONNECTIONS // len(nodes), "-d", VALUE_BYTES, "-r", KEYS, "-n",
                   requests // len(nodes), "-P", pipeline, "-t", test, "--csv"]
        clients.append(subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE,
                                        text=True))
    outputs = [client.communicate()[0] for client in clients]
    took = time.monotonic() - started
    if any(client.returncode != 0 for client in clients):
        raise SystemExit("redis-benchmark failed")
    if len(nodes) > 1:
        return requests / took
    return float(list(csv.reader(outputs[0].strip().splitlines()))[-1][1])


def fill(node):
    """All keys are there before anything is measured, as pgbench's rows are."""
    for start in range(0, KEYS, 1000):
        node.pipeline([("SET", f"key:{i:012}", "x" * VALUE_BYTES)
                       for i in range(start, start + 1000)])


def check(nodes):
    for node in nodes:
        if node.command("DBSIZE") != KEYS:
            raise SystemExit(f"{node.command('DBSIZE')} keys instead of {KEYS}")
        for i in range(0, KEYS, KEYS // 50):
            if len(node.command("GET", f"key:{i:012}") or "") != VALUE_BYTES:
                raise SystemExit(f"key {i} does not hold what was written")


def measure(cluster, nodes, rounds, seconds):
    results = {}
    for _ in range(rounds):
        for test in SCRIPTS:
            results.setdefault(("pgbench", test), []).append(run_pgbench(cluster, test, seconds))
            for pipeline in (1, 32):
                for count in (1, 2):
                    rate = run_cairn(nodes[:count], test, pipeline)
                    results.setdefault((count, test, pipeline), []).append(rate)
    return results


def print_table(results):
    print(f"\nCairn on PostgreSQL beside pgbench -M prepared: {CONNECTIONS} connections, "
          f"{KEYS:,} rows, {VALUE_BYTES}-byte values")
    print(f"{'test':6} {'pipeline':>8} {'nodes':>6} {'pgbench/s':>11} {'Cairn/s':>11} {'ratio':>7} "
          f"{'wanted':>7}   spread of ratios")
    for (count, test, pipeline), rates in sorted((k, v) for k, v in results.items()
                                                 if k[0] != "pgbench"):
        base = results[("pgbench", test)]
        ratios = sorted(rate / other for rate, other in zip(rates, base))
        wanted = WANTED.get((test, pipeline)) if count == 1 else None
        print(f"{test:6} {pipeline:8} {count:6} {statistics.median(base):11,.0f} "
              f"{statistics.median(rates):11,.0f} {statistics.median(ratios):7.2f} "
              f"{wanted or '':>7}   {ratios[0]:.2f} to {ratios[-1]:.2f}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4, help="length of each run of pgbench")
    arguments = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="cairn-bench-")
    os.chmod(directory, 0o755)
    running = []
    try:
        for name in ("postgres", "one", "two"):
            os.mkdir(os.path.join(directory, name))
        cluster = Cluster(os.path.join(directory, "postgres"))
        running.append(cluster)
        nodes = []
        for name in ("one", "two"):
            nodes.append(start_node(cluster, os.path.join(directory, name)))
            running.append(nodes[-1])
        cluster.pgbench("-i", "-q", "-s", "1")
        fill(nodes[0])
        results = measure(cluster, nodes, arguments.rounds, arguments.seconds)
        check(nodes)
        print_table(results)
    finally:
        for server in reversed(running):
            server.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
