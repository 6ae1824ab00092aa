"""The servers of the benchmarks, Cairn and Redis, and a client just large enough to check them."""

import os
import socket
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CAIRN = os.environ.get("CAIRN_BINARY", os.path.join(ROOT, "build", "cairn"))
# Cairn's durability and Redis's appendfsync that promises the same.
PAIRS = {"sync": "always", "interval": "everysec"}


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
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:  # its data is thrown away
            self.process.kill()
            self.process.wait()
        self.log.close()

    def processor_seconds(self):
        """What all its threads have used so far."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

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


def start_cairn(directory, durability, flags=(), http_port=0, binary=CAIRN, name="cairn"):
    port = free_port()
    command = [binary, "serve", "--data", os.path.join(directory, "data"), "--resp",
               f"127.0.0.1:{port}", "--http", f"127.0.0.1:{http_port}", "--durability", durability,
               *flags]
    return Server(name, command, directory, port)


def start_peer(directory, durability, against=None):
    """Redis, or another build of Cairn: the binary `against`."""
    if against is None:
        return start_redis(directory, PAIRS[durability])
    return start_cairn(directory, durability, binary=against, name="earlier")


def add_against(parser):
    parser.add_argument("--against", metavar="BINARY", type=os.path.abspath,
                        help="another build of Cairn to stand where Redis does: before and after")


def print_ratios(title, durability, results, against=None):
    """A line for each test and pipeline of `results`: {(test, pipeline, server's name): [rate, …]}."""
    peer = "earlier" if against else "redis"
    beside = against or f"Redis appendfsync {PAIRS[durability]}"
    print(f"\nCairn {durability} beside {beside}: {title}")
    print(f"{'test':12} {'pipeline':>8} {peer + '/s':>12} {'cairn/s':>12} {'ratio':>7}   spread of ratios")
    rows = dict.fromkeys(key[:2] for key in results)  # in the order of the runs
    for test, pipeline in sorted(rows, key=lambda row: row[1]):
        other, cairn = results[(test, pipeline, peer)], results[(test, pipeline, "cairn")]
        ratios = sorted(c / o for c, o in zip(cairn, other))
        print(f"{test:12} {pipeline:8} {statistics.median(other):12,.0f} "
              f"{statistics.median(cairn):12,.0f} {statistics.median(ratios):7.2f}   "
              f"{ratios[0]:.2f} to {ratios[-1]:.2f}")
    sys.stdout.flush()
