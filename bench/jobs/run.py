#!/usr/bin/env python3
"""Jobs through Cairn, BullMQ, pg-boss and graphile-worker, the same work on this machine in one run.

Three kinds of work, each with as many jobs for all, payload and result {} and batches of 64:
  enqueue    a job id is returned; producers send batches one after the other
  lifecycle  a job is fetched and acknowledged, from a full queue
  combined   a job is enqueued, fetched and acknowledged, all at once
Redis keeps its log as Cairn does (appendfsync always for sync, everysec for interval), PostgreSQL commits
synchronously for sync and not for interval. Completed jobs are kept by pg-boss and removed by the other two;
Cairn does either, and each ratio is to the run that does the same. After each run every job has to be
finished. bench_jobs (job_load.cc) is Cairn's client over RESP and HTTP, peers.mjs is that of the others.

Then single jobs over HTTP, the time from an enqueue to a waiting worker, the rates as jobs pile up, the time
until the search view has seen everything, and what a job of a bulk action costs among few and among many.

  bench/jobs/run.py                       everything
  bench/jobs/run.py --only peers          or: http, wake, pending, view, bulk
  bench/jobs/run.py --most-pending 100000 without the 5 million
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from postgres.run import Cluster  # noqa: E402  (found through the line above)
from servers import PAIRS, ROOT, free_port, start_cairn, start_redis  # noqa: E402

LOAD = os.environ.get("BENCH_JOBS", os.path.join(ROOT, "build", "bench", "bench_jobs"))
PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers.mjs")
NPM = os.path.join(ROOT, "build-npm-bench")
# What becomes of completed jobs: pg-boss keeps them, BullMQ (removeOnComplete) and graphile-worker remove them.
# Cairn is run both ways, and each peer stands beside the run that does as it does.
KEPT, REMOVED = "kept", "removed"
BATCH = 64
CONCURRENCY = 10
WANTED = {("sync", "enqueue"): 120_000, ("sync", "lifecycle"): 40_000,
          ("interval", "enqueue"): 170_000, ("interval", "lifecycle"): 60_000}
WANTED_HTTP = 8_000
WANTED_RATIO = 5
WANTED_WAKE_MS = 1  # beside one sync of the disk, where there is one
WANTED_FLAT = 0.8   # of the rate with few jobs pending
RUN_SECONDS = 300   # what takes longer is stuck


def run_and_parse(command, **options):
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=RUN_SECONDS, **options)
    except subprocess.TimeoutExpired:
        raise SystemExit(f"{' '.join(command)}: not done after {RUN_SECONDS} s") from None
    if run.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {run.stderr}{run.stdout}")
    return json.loads(run.stdout)


class Cairn:
    def __init__(self, directory, durability):
        os.makedirs(directory)
        self.http_port = free_port()
        self.server = start_cairn(directory, durability, http_port=self.http_port)
        self.port = self.server.port

    def request(self, method, path, body=None, headers=()):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.http_port}{path}", data, method=method,
                                         headers={"Content-Type": "application/json", **dict(headers)})
        with urllib.request.urlopen(request, timeout=600) as reply:
            return json.load(reply)

    def load(self, mode, jobs, **options):
        """bench_jobs, and what the server's threads used for each job (those in the background too)."""
        command = [LOAD, mode, str(self.http_port if mode == "http" else self.port), "--jobs", str(jobs)]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        before = self.server.processor_seconds()
        result = run_and_parse(command)
        result["processor_us"] = (self.server.processor_seconds() - before) / jobs * 1e6
        return result

    def settle(self):
        """Waits until what a load left to do in the background (compaction, the search view) is done."""
        deadline = time.monotonic() + RUN_SECONDS
        while time.monotonic() < deadline:
            before = self.server.processor_seconds()
            time.sleep(1)
            if self.server.processor_seconds() - before < 0.05:
                return
        raise SystemExit(f"cairn is still busy with itself after {RUN_SECONDS} s")

    def check(self, queue, **counts):
        """What the server says about a queue, after everything is over."""
        found = json.loads(self.server.command("QUEUE.GET", queue))
        for name, count in counts.items():
            if found[name] != count:
                raise SystemExit(f"cairn: {queue} has {found[name]} {name} jobs instead of {count}")

    def stop(self):
        self.server.stop()


def run_cairn(directory, durability, jobs, completed):
    cairn = Cairn(directory, durability)
    try:
        if completed == REMOVED:
            for queue in ("warm", "separate", "combined", "wake"):
                cairn.server.command("QUEUE.CONFIG", queue, '{"retention_ms":0}')
        left = jobs if completed == KEPT else 0
        common = {"concurrency": CONCURRENCY, "batch": BATCH}
        cairn.load("enqueue", BATCH, queue="warm", **common)
        results = {"enqueue": cairn.load("enqueue", jobs, queue="separate", **common)}
        cairn.check("separate", pending=jobs)
        results["lifecycle"] = cairn.load("lifecycle", jobs, queue="separate", **common)
        cairn.check("separate", pending=0, active=0, completed=left)
        results["combined"] = cairn.load("combined", jobs, queue="combined", **common)
        cairn.check("combined", pending=0, active=0, completed=left)
        started = time.monotonic()
        wait_for_view(cairn)
        results["view_seconds"] = time.monotonic() - started
        results["wake"] = cairn.load("wake", 200, queue="wake")
        return results
    finally:
        cairn.stop()


def run_peer(name, url, jobs):
    result = run_and_parse(["node", PEERS, name, url, "--jobs", str(jobs), "--concurrency", str(CONCURRENCY),
                            "--batch", str(BATCH)], env={**os.environ, "BENCH_NPM": NPM})
    if result["left"] != 0:
        raise SystemExit(f"{name}: {result['left']} jobs are not finished")
    return result


def run_bullmq(directory, durability, jobs):
    os.makedirs(directory)
    server = start_redis(directory, PAIRS[durability])
    try:
        return run_peer("bullmq", f"redis://127.0.0.1:{server.port}", jobs)
    finally:
        server.stop()


def run_on_postgres(name, directory, durability, jobs):
    os.makedirs(directory)
    cluster = Cluster(directory)
    try:
        commits = "on" if durability == "sync" else "off"
        subprocess.run(["/usr/lib/postgresql/15/bin/psql", "-q", "-h", "127.0.0.1", "-p", str(cluster.port),
                        "-U", "cairn", "-c", f"alter system set synchronous_commit = {commits}",
                        "-c", "select pg_reload_conf()", "postgres"], check=True, capture_output=True)
        return run_peer(name, f"postgres://cairn@127.0.0.1:{cluster.port}/postgres", jobs)
    finally:
        cluster.stop()


def peers(arguments, directory):
    runs = [("BullMQ on Redis", REMOVED, lambda *a: run_bullmq(*a)),
            ("pg-boss", KEPT, lambda *a: run_on_postgres("pgboss", *a)),
            ("graphile-worker", REMOVED, lambda *a: run_on_postgres("graphile", *a))]
    for durability in PAIRS:
        print(f"\n{durability}: jobs per second, batches of {BATCH}, {CONCURRENCY} connections or workers; "
              f"{arguments.jobs:,} jobs each", flush=True)
        print(f"{'':18} {'enqueue':>10} {'ratio':>7} {'lifecycle':>10} {'ratio':>7} {'combined':>10} {'ratio':>7} "
              f"{'idle wake p50':>14} {'p99 ms':>8}", flush=True)
        cairn = {}
        for completed in (KEPT, REMOVED):
            cairn[completed] = run_cairn(os.path.join(directory, f"cairn-{durability}-{completed}"), durability,
                                         arguments.jobs, completed)
            print_row(f"Cairn, {completed}", cairn[completed])
        for name, completed, run in runs:
            print_row(name, run(os.path.join(directory, f"{name.split()[0]}-{durability}"), durability,
                                arguments.jobs), cairn[completed])
        for work in ("enqueue", "lifecycle"):
            rate, wanted = cairn[KEPT][work]["per_second"], WANTED[(durability, work)]
            times = " and ".join(f"{cairn[completed][work]['processor_us']:.1f}" for completed in (KEPT, REMOVED))
            print(f"  {work}: wanted {wanted:,}/s, {verdict(rate >= wanted)}; "
                  f"{times} µs of the server's processor time a job", flush=True)
        for completed in (KEPT, REMOVED):
            print(f"  completed jobs {completed}: the search view had seen everything "
                  f"{cairn[completed]['view_seconds']:.1f} s after the last of them", flush=True)
    print(f"\nratio: Cairn's rate, completed jobs kept or removed as by the peer, by the peer's; "
          f"{WANTED_RATIO} or more is wanted")


def verdict(reached):
    return "reached" if reached else "NOT reached"


def print_row(name, results, cairn=None):
    cells = []
    for work in ("enqueue", "lifecycle", "combined"):
        rate = results[work]["per_second"]
        ratio = f"{cairn[work]['per_second'] / rate:7.1f}" if cairn else " " * 7
        cells.append(f"{rate:10,.0f} {ratio}")
    wake = results["wake"]
    print(f"{name:18} {' '.join(cells)} {wake['p50_ms']:14.2f} {wake['p99_ms']:8.2f}", flush=True)


def http(arguments, directory):
    print("\nSingle jobs by POST /api/v1/enqueue, 64 connections", flush=True)
    for durability in PAIRS:
        cairn = Cairn(os.path.join(directory, f"http-{durability}"), durability)
        try:
            result = cairn.load("http", arguments.http_jobs, queue="http", concurrency=64)
            cairn.check("http", pending=arguments.http_jobs)
        finally:
            cairn.stop()
        reached = verdict(result["per_second"] >= WANTED_HTTP)
        wanted = f"   wanted {WANTED_HTTP:,}, {reached}" if durability == "sync" else ""
        print(f"  {durability:10} {result['per_second']:10,.0f}/s   p50 {result['p50_ms']:.2f} ms   "
              f"p99 {result['p99_ms']:.2f} ms{wanted}", flush=True)


def wake(arguments, directory):
    print("\nFrom an enqueue to the worker that waits in JOB.FETCH BLOCK, one job at a time", flush=True)
    for durability in ("os", "interval", "sync"):
        cairn = Cairn(os.path.join(directory, f"wake-{durability}"), durability)
        try:
            result = cairn.load("wake", arguments.wakes, queue="wake")
        finally:
            cairn.stop()
        sync_ms = median_sync_ms(directory) if durability == "sync" else 0
        beside = f" beside the {sync_ms:.3f} ms of a sync" if sync_ms else ""
        print(f"  {durability:10} p50 {result['p50_ms']:.3f} ms   p99 {result['p99_ms']:.3f} ms   "
              f"wanted under {WANTED_WAKE_MS} ms{beside}, "
              f"{verdict(result['p50_ms'] < WANTED_WAKE_MS + sync_ms)}", flush=True)
        for bound, count in result["histogram"]:
            print(f"    ≤ {bound:8.3f} ms {count:7} {'#' * (60 * count // arguments.wakes)}")


def median_sync_ms(directory):
    """What the disk alone needs to sync a page of a file that is there already."""
    page = bytes(4096)
    file = os.open(os.path.join(directory, "synced"), os.O_RDWR | os.O_CREAT)
    try:
        os.write(file, page * 256)
        os.fsync(file)
        samples = []
        for i in range(200):
            os.pwrite(file, page, i * len(page))
            started = time.monotonic()
            os.fdatasync(file)
            samples.append((time.monotonic() - started) * 1000)
        return sorted(samples)[len(samples) // 2]
    finally:
        os.close(file)


def pending(arguments, directory):
    print(f"\nRates while jobs are pending (interval), {arguments.jobs:,} jobs more each, after the server has come to rest",
          flush=True)
    print(f"  {'pending':>10} {'enqueue/s':>12} {'ratio':>7} {'lifecycle/s':>12} {'ratio':>7} {'server µs/job':>13}",
          flush=True)
    base = None
    cairn = Cairn(os.path.join(directory, "pending"), "interval")
    try:
        common = {"queue": "deep", "concurrency": CONCURRENCY, "batch": BATCH}
        depth = 0
        for target in (1_000, 100_000, 5_000_000):
            if target > arguments.most_pending:
                break
            cairn.load("enqueue", target - depth, **common)
            depth = target
            cairn.settle()
            enqueue = cairn.load("enqueue", arguments.jobs, **common)
            cycle = cairn.load("lifecycle", arguments.jobs, **common)
            cairn.check("deep", pending=depth, active=0)
            base = base or (enqueue["per_second"], cycle["per_second"])
            ratios = (enqueue["per_second"] / base[0], cycle["per_second"] / base[1])
            print(f"  {depth:10,} {enqueue['per_second']:12,.0f} {ratios[0]:7.2f} {cycle['per_second']:12,.0f} "
                  f"{ratios[1]:7.2f} {cycle['processor_us']:13.1f}   flat: {verdict(min(ratios) >= WANTED_FLAT)}",
                  flush=True)
    finally:
        cairn.stop()


def view(arguments, directory):
    print("\nTime until the search view has seen everything", flush=True)
    cairn = Cairn(os.path.join(directory, "view"), "interval")
    try:
        started = time.monotonic()
        cairn.load("enqueue", arguments.jobs, queue="view", concurrency=CONCURRENCY, batch=BATCH)
        enqueued = time.monotonic()
        total = wait_for_view(cairn)
        print(f"  {arguments.jobs:,} enqueued in {enqueued - started:.1f} s, all of them in the view "
              f"{time.monotonic() - enqueued:.1f} s later", flush=True)
        if total != arguments.jobs:
            raise SystemExit(f"the view has {total} jobs instead of {arguments.jobs}")
        started = time.monotonic()
        rebuilt = cairn.request("POST", "/api/v1/admin/rebuild-sqlite")["rebuilt"]
        print(f"  {rebuilt:,} jobs built anew in {time.monotonic() - started:.1f} s", flush=True)
    finally:
        cairn.stop()


def bulk(arguments, directory):
    print("\nBulk actions by filter (interval), from the request to the end of the last step", flush=True)
    print(f"  {'jobs':>10} {'seconds':>9} {'µs/job':>8} {'ratio':>7}", flush=True)
    base = None
    cairn = Cairn(os.path.join(directory, "bulk"), "interval")
    try:
        for count in (4_000, 32_000, 500_000):
            if count > arguments.most_in_bulk:
                break
            queue = f"bulk-{count}"
            cairn.load("enqueue", count, queue=queue, concurrency=CONCURRENCY, batch=BATCH)
            wait_for_view(cairn)
            cairn.settle()
            started = time.monotonic()
            begun = cairn.request("POST", "/api/v1/jobs/bulk",
                                  {"action": "hold", "filter": {"queue": queue}, "async": True})
            task = wait_for_bulk(cairn, begun["bulk_operation_id"])
            seconds = time.monotonic() - started
            if task["affected"] != count:
                raise SystemExit(f"a bulk action on {count} jobs: {task}")
            each = seconds / count * 1e6
            base = base or each
            print(f"  {count:10,} {seconds:9.1f} {each:8.1f} {each / base:7.2f}   "
                  f"flat: {verdict(base / each >= WANTED_FLAT)}", flush=True)
    finally:
        cairn.stop()


def wait_for_bulk(cairn, name):
    deadline = time.monotonic() + RUN_SECONDS
    while time.monotonic() < deadline:
        task = cairn.request("GET", f"/api/v1/bulk/{name}")
        if task["status"] not in ("queued", "running"):
            return task
        time.sleep(0.02)
    raise SystemExit(f"a bulk action has not ended after {RUN_SECONDS} s")


def wait_for_view(cairn):
    """A search is answered when the view has all that was committed before it; it may say: later."""
    deadline = time.monotonic() + RUN_SECONDS
    while time.monotonic() < deadline:
        try:
            return cairn.request("POST", "/api/v1/jobs/search", {"limit": 1},
                                 {"X-Cairn-Commit": "latest"})["total"]
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
    raise SystemExit(f"the view has not caught up after {RUN_SECONDS} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=100_000, help="of each run, Cairn's and the peers'")
    parser.add_argument("--http-jobs", type=int, default=40_000)
    parser.add_argument("--wakes", type=int, default=1_000)
    parser.add_argument("--most-pending", type=int, default=5_000_000)
    parser.add_argument("--most-in-bulk", type=int, default=500_000)
    parser.add_argument("--only", choices=("peers", "http", "wake", "pending", "view", "bulk"))
    arguments = parser.parse_args()
    if arguments.only in (None, "peers"):
        subprocess.run([os.path.join(ROOT, "scripts", "npm_test_packages.sh"), "bench/jobs", NPM], check=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # and so ends the servers too
    directory = tempfile.mkdtemp(prefix="cairn-bench-jobs-")
    os.chmod(directory, 0o755)
    try:
        for name, part in (("peers", peers), ("http", http), ("wake", wake), ("pending", pending),
                           ("view", view), ("bulk", bulk)):
            if arguments.only in (None, name):
                part(arguments, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
