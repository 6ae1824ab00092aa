#!/usr/bin/python3
"""redis-py against a server, which is emptied: redis_py.py HOST:PORT"""

import sys
import threading
import time
import unittest

import redis

HOST, PORT = "127.0.0.1", 6379
TIMEOUT_S = 60


def connect(**options):
    return redis.Redis(host=HOST, port=PORT, socket_timeout=TIMEOUT_S, decode_responses=True,
                       **options)


def in_thread(function):
    """Runs it in a second thread; the returned function waits for the result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function()), daemon=True)
    thread.start()

    def result():
        thread.join(TIMEOUT_S)
        return results[0]

    return result


def eventually(condition):
    """Waits until it holds, which is the only thing that is waited for."""
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("waited in vain")


class RedisPy(unittest.TestCase):
    def setUp(self):
        self.r = connect()
        self.addCleanup(self.r.close)
        self.r.flushall()

    def await_blocked_client(self):
        """Until some client waits in a blocking command."""
        eventually(lambda: self.r.info("clients")["blocked_clients"] > 0)

    def test_strings(self):
        r = self.r
        self.assertTrue(r.set("k", "v", ex=100))
        self.assertIn(r.ttl("k"), range(1, 101))
        self.assertIsNone(r.set("k", "w", nx=True))
        self.assertEqual(r.set("k", "w", xx=True, get=True), "v")
        self.assertEqual(r.getex("k", persist=True), "w")
        self.assertEqual(r.ttl("k"), -1)
        self.assertEqual(r.append("k", "xyz"), 4)
        self.assertEqual(r.getrange("k", 1, -1), "xyz")
        self.assertTrue(r.mset({"a": 1, "b": 2.5, "c": "ünï"}))
        self.assertEqual(r.mget("a", "b", "c", "d"), ["1", "2.5", "ünï", None])
        self.assertEqual(r.incr("a", 41), 42)
        self.assertEqual(r.incrbyfloat("b", 0.25), 2.75)
        self.assertEqual(r.getdel("a"), "42")
        self.assertEqual(r.exists("a", "b", "c"), 2)
        self.assertEqual(r.setbit("bits", 7, 1), 0)
        self.assertEqual(r.bitcount("bits"), 1)
        bitfield = r.bitfield("bits").set("u8", 0, 255).incrby("u2", 8, 1, overflow="SAT")
        self.assertEqual(bitfield.execute(), [1, 1])

    def test_binary_values(self):
        raw = redis.Redis(host=HOST, port=PORT, socket_timeout=TIMEOUT_S)
        self.addCleanup(raw.close)
        value = bytes(range(256)) * 5000
        raw.set(b"\x00\xff\r\n", value)
        self.assertEqual(raw.get(b"\x00\xff\r\n"), value)
        copy = raw.dump(b"\x00\xff\r\n")
        raw.restore("copy", 0, copy)
        self.assertEqual(raw.get("copy"), value)

    def test_hashes(self):
        r = self.r
        self.assertEqual(r.hset("h", mapping={"a": 1, "b": "two"}), 2)
        self.assertEqual(r.hgetall("h"), {"a": "1", "b": "two"})
        self.assertEqual(r.hincrby("h", "a", 2), 3)
        self.assertEqual(r.hincrbyfloat("h", "a", 0.5), 3.5)
        self.assertFalse(r.hsetnx("h", "b", "other"))
        self.assertEqual(r.hmget("h", ["b", "missing"]), ["two", None])
        self.assertEqual(sorted(r.hkeys("h")), ["a", "b"])
        self.assertTrue(r.hexists("h", "a"))
        self.assertEqual(r.hdel("h", "a", "b"), 2)
        self.assertEqual(r.exists("h"), 0)

    def test_lists(self):
        r = self.r
        self.assertEqual(r.rpush("l", *range(10)), 10)
        self.assertEqual(r.lpush("l", "first"), 11)
        self.assertEqual(r.lrange("l", 0, 2), ["first", "0", "1"])
        self.assertEqual(r.lpop("l", 2), ["first", "0"])
        self.assertTrue(r.ltrim("l", 0, 4))
        self.assertTrue(r.lset("l", 0, "one"))
        self.assertEqual(r.linsert("l", "BEFORE", "3", "2.5"), 6)
        self.assertEqual(r.lpos("l", "2.5"), 2)
        self.assertEqual(r.lmove("l", "m", "LEFT", "RIGHT"), "one")
        self.assertEqual(r.lrem("l", 0, "4"), 1)
        self.assertEqual(r.lrange("l", 0, -1), ["2", "2.5", "3", "5"])
        self.assertEqual(r.sort("l", desc=True, alpha=True), ["5", "3", "2.5", "2"])

    def test_sets(self):
        r = self.r
        self.assertEqual(r.sadd("s", 1, 2, 3), 3)
        self.assertEqual(r.sadd("t", 2, 3, 4), 3)
        self.assertEqual(r.sinter("s", "t"), {"2", "3"})
        self.assertEqual(r.sunionstore("u", "s", "t"), 4)
        self.assertEqual(r.sdiff("s", "t"), {"1"})
        self.assertEqual(r.smismember("u", ["1", "9"]), [1, 0])
        self.assertIn(r.spop("u"), {"1", "2", "3", "4"})
        self.assertEqual(r.scard("u"), 3)

    def test_sorted_sets(self):
        r = self.r
        self.assertEqual(r.zadd("z", {"a": 1, "b": 2, "c": 3.5}), 3)
        self.assertEqual(r.zadd("z", {"a": 5}, gt=True, ch=True), 1)
        self.assertEqual(r.zrange("z", 0, -1, withscores=True), [("b", 2), ("c", 3.5), ("a", 5)])
        self.assertEqual(r.zrange("z", 2, 4, byscore=True), ["b", "c"])
        self.assertEqual(r.zrevrangebyscore("z", "+inf", "(2", start=0, num=1), ["a"])
        self.assertEqual(r.zincrby("z", 0.5, "b"), 2.5)
        self.assertEqual(r.zrank("z", "a"), 2)
        self.assertEqual(r.zcount("z", "-inf", 4), 2)
        self.assertEqual(r.zpopmin("z"), [("b", 2.5)])
        r.zadd("y", {"a": 1, "d": 9})
        self.assertEqual(r.zunionstore("x", {"z": 2, "y": 1}), 3)
        self.assertEqual(r.zscore("x", "a"), 11)
        self.assertEqual(r.zremrangebyrank("x", 0, 0), 1)
        self.assertEqual(r.zmscore("x", ["a", "none"]), [11, None])

    def test_geo_and_hyperloglog(self):
        r = self.r
        r.geoadd("sicily", (13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania"))
        self.assertAlmostEqual(r.geodist("sicily", "Palermo", "Catania", "km"), 166.2742, 3)
        found = r.geosearch("sicily", longitude=15, latitude=37, radius=100, unit="km")
        self.assertEqual(found, ["Catania"])
        r.pfadd("visitors", *range(100))
        self.assertIn(r.pfcount("visitors"), range(95, 106))

    def test_streams_with_groups(self):
        r = self.r
        ids = [r.xadd("s", {"n": n}) for n in range(5)]
        self.assertEqual(r.xlen("s"), 5)
        self.assertEqual(r.xrange("s", ids[1], ids[2]), [(ids[1], {"n": "1"}), (ids[2], {"n": "2"})])
        self.assertTrue(r.xgroup_create("s", "g", id="0"))
        with self.assertRaisesRegex(redis.ResponseError, "BUSYGROUP"):
            r.xgroup_create("s", "g")
        [[_, first]] = r.xreadgroup("g", "alice", {"s": ">"}, count=2)
        self.assertEqual([id for id, _ in first], ids[:2])
        [[_, rest]] = r.xreadgroup("g", "bob", {"s": ">"})
        self.assertEqual([id for id, _ in rest], ids[2:])
        self.assertEqual(r.xack("s", "g", *ids[2:]), 3)
        pending = r.xpending("s", "g")
        self.assertEqual((pending["pending"], pending["min"], pending["max"]), (2, ids[0], ids[1]))
        self.assertEqual(pending["consumers"], [{"name": "alice", "pending": 2}])
        self.assertEqual([id for id, _ in r.xclaim("s", "g", "bob", 0, [ids[0]])], [ids[0]])
        claimed = r.xautoclaim("s", "g", "carol", 0, start_id="0-0")
        self.assertEqual([id for id, _ in claimed[1]], ids[:2])
        [row] = r.xpending_range("s", "g", "-", "+", 1)
        self.assertEqual((row["message_id"], row["consumer"]), (ids[0], "carol"))
        [group] = r.xinfo_groups("s")
        self.assertEqual((group["name"], group["consumers"], group["pending"]), ("g", 3, 2))
        self.assertEqual(r.xinfo_stream("s")["length"], 5)
        self.assertEqual(r.xtrim("s", maxlen=2, approximate=False), 3)
        self.assertEqual(r.xdel("s", ids[4]), 1)

    def test_blocking_read_of_a_stream(self):
        r = self.r
        r.xgroup_create("s", "g", id="$", mkstream=True)
        read = in_thread(lambda: connect().xreadgroup("g", "c", {"s": ">"}, block=0))
        self.await_blocked_client()
        id = r.xadd("s", {"f": "v"})
        self.assertEqual(read(), [["s", [(id, {"f": "v"})]]])

    def test_blocking_pops(self):
        r = self.r
        for push, pop, expected in [
                (lambda: r.rpush("q", "job"), lambda c: c.blpop(["p", "q"], 0), ("q", "job")),
                (lambda: r.rpush("q", "job"), lambda c: c.brpop("q", 0), ("q", "job")),
                (lambda: r.rpush("q", "job"), lambda c: c.blmove("q", "done", 0, "LEFT", "RIGHT"),
                 "job"),
                (lambda: r.zadd("z", {"m": 3}), lambda c: c.bzpopmin("z", 0), ("z", "m", 3.0)),
                (lambda: r.eval("redis.call('lpush', KEYS[1], 'lua')", 1, "q"),
                 lambda c: c.blpop("q", 0), ("q", "lua"))]:
            result = in_thread(lambda: pop(connect()))
            self.await_blocked_client()
            push()
            self.assertEqual(result(), expected)
        self.assertIsNone(r.blpop("nothing", 0.01))
        self.assertEqual(r.lrange("done", 0, -1), ["job"])

    def test_publish_and_subscribe(self):
        r = self.r
        with r.pubsub() as p:
            p.subscribe("news")
            p.psubscribe("n*s")
            kinds = [p.get_message(timeout=TIMEOUT_S)["type"] for _ in range(2)]
            self.assertEqual(kinds, ["subscribe", "psubscribe"])
            self.assertEqual(r.pubsub_numsub("news"), [("news", 1)])
            self.assertEqual(r.publish("news", "hello"), 2)
            messages = [p.get_message(timeout=TIMEOUT_S) for _ in range(2)]
            self.assertEqual([(m["type"], m["channel"], m["data"]) for m in messages],
                             [("message", "news", "hello"), ("pmessage", "news", "hello")])
            p.unsubscribe()
            p.punsubscribe()
            kinds = [p.get_message(timeout=TIMEOUT_S)["type"] for _ in range(2)]
            self.assertEqual(kinds, ["unsubscribe", "punsubscribe"])

    def test_messages_in_a_thread(self):
        received, arrived = [], threading.Event()

        def handle(message):
            received.append(message["data"])
            if len(received) == 100:
                arrived.set()

        p = self.r.pubsub(ignore_subscribe_messages=True)
        p.subscribe(events=handle)
        thread = p.run_in_thread(sleep_time=0.1, daemon=True)
        eventually(lambda: self.r.pubsub_numsub("events") == [("events", 1)])
        for i in range(100):
            self.r.publish("events", i)
        self.assertTrue(arrived.wait(TIMEOUT_S))
        thread.stop()
        thread.join(TIMEOUT_S)
        self.assertEqual(received, [str(i) for i in range(100)])

    def test_keyspace_notifications(self):
        r = self.r
        before = r.config_get("notify-keyspace-events")["notify-keyspace-events"]
        r.config_set("notify-keyspace-events", "KEA")
        self.addCleanup(r.config_set, "notify-keyspace-events", before)
        with r.pubsub(ignore_subscribe_messages=True) as p:
            p.psubscribe("__keyevent@0__:*")
            p.get_message(timeout=TIMEOUT_S)
            r.set("k", "v")
            r.delete("k")
            events = [p.get_message(timeout=TIMEOUT_S) for _ in range(2)]
        self.assertEqual([(e["channel"], e["data"]) for e in events],
                         [("__keyevent@0__:set", "k"), ("__keyevent@0__:del", "k")])

    def test_pipelines(self):
        pipe = self.r.pipeline(transaction=False)
        for i in range(5000):
            pipe.set(f"k{i}", i).incr("n")
        replies = pipe.execute()
        self.assertEqual(replies[1::2], list(range(1, 5001)))
        self.assertEqual(self.r.dbsize(), 5001)

    def test_transactions(self):
        r = self.r
        with r.pipeline() as pipe:
            self.assertEqual(pipe.set("a", 1).incr("a").get("a").execute(), [True, 2, "2"])
        pipe = r.pipeline().set("s", "text").lpush("s", 1).set("t", 1)
        result = pipe.execute(raise_on_error=False)
        self.assertIsInstance(result[1], redis.ResponseError)
        self.assertEqual(r.get("t"), "1")

    def test_watch_sees_another_client(self):
        r = self.r
        r.set("balance", 10)
        with r.pipeline() as pipe:
            pipe.watch("balance")
            balance = int(pipe.get("balance"))
            r.set("balance", 10)  # the same value again is a change all the same
            pipe.multi()
            pipe.set("balance", balance - 1)
            with self.assertRaises(redis.WatchError):
                pipe.execute()
        attempts = []

        def decrement(pipe):
            attempts.append(None)
            balance = int(pipe.get("balance"))
            if len(attempts) == 1:
                connect().incr("balance")
            pipe.multi()
            pipe.set("balance", balance - 1)

        self.assertEqual(r.transaction(decrement, "balance"), [True])
        self.assertEqual((len(attempts), r.get("balance")), (2, "10"))

    def test_concurrent_transactions_lose_nothing(self):
        def add():
            client = connect()
            for _ in range(50):
                client.transaction(
                    lambda pipe: (n := int(pipe.get("n") or 0), pipe.multi(), pipe.set("n", n + 1)),
                    "n")
            return True

        waits = [in_thread(add) for _ in range(4)]
        self.assertTrue(all(wait() for wait in waits))
        self.assertEqual(self.r.get("n"), "200")

    def test_registered_scripts(self):
        r = self.r
        script = r.register_script("""
            local value = tonumber(redis.call('GET', KEYS[1]) or 0) + ARGV[1]
            redis.call('SET', KEYS[1], value)
            return {value, cjson.encode({key = KEYS[1]}), redis.status_reply('FINE')}""")
        self.assertEqual(script(keys=["k"], args=[5]), [5, '{"key":"k"}', "FINE"])
        r.script_flush()
        self.assertEqual(script(keys=["k"], args=[5])[0], 10)  # loads it again after NOSCRIPT
        with r.pipeline() as pipe:
            script(keys=["k"], args=[1], client=pipe)
            pipe.get("k")
            self.assertEqual(pipe.execute()[1], "11")
        with self.assertRaisesRegex(redis.exceptions.NoScriptError, "No matching script"):
            r.evalsha("0" * 40, 0)
        with self.assertRaisesRegex(redis.ResponseError, "my complaint"):
            r.eval("return redis.error_reply('MINE my complaint')", 0)
        with self.assertRaisesRegex(redis.ResponseError, "WRONGTYPE"):
            r.eval("redis.call('LPUSH', KEYS[1], 1)", 1, "k")

    def test_scan_iterators(self):
        r = self.r
        pipe = r.pipeline(transaction=False)
        for i in range(2000):
            pipe.set(f"key:{i}", i).hset("h", f"f{i}", i).sadd("s", i).zadd("z", {f"m{i}": i})
        pipe.execute()
        self.assertEqual(set(r.scan_iter("key:*", count=100)), {f"key:{i}" for i in range(2000)})
        self.assertEqual(set(r.scan_iter(_type="hash")), {"h"})
        self.assertEqual(dict(r.hscan_iter("h")), {f"f{i}": str(i) for i in range(2000)})
        self.assertEqual(set(r.sscan_iter("s")), {str(i) for i in range(2000)})
        self.assertEqual(dict(r.zscan_iter("z", match="m1*"))["m1999"], 1999)

    def test_locks(self):
        r = self.r
        lock = r.lock("lock", timeout=TIMEOUT_S)
        self.assertTrue(lock.acquire(blocking=False))
        self.assertFalse(r.lock("lock", timeout=TIMEOUT_S).acquire(blocking=False))
        self.assertTrue(lock.extend(10))
        self.assertTrue(lock.owned())
        lock.release()
        with self.assertRaises(redis.exceptions.LockError):
            lock.release()
        counts = []

        def count_alone():
            client = connect()
            for _ in range(5):
                with client.lock("count", timeout=TIMEOUT_S, sleep=0.001):
                    counts.append(len(counts))
            return True

        waits = [in_thread(count_alone) for _ in range(3)]
        self.assertTrue(all(wait() for wait in waits))
        self.assertEqual(counts, list(range(15)))

    def test_errors_are_exceptions(self):
        r = self.r
        r.set("text", "abc")
        for message, command in [
                ("WRONGTYPE", ("LPUSH", "text", 1)),
                ("value is not an integer or out of range", ("INCR", "text")),
                ("wrong number of arguments for 'get' command", ("GET",)),
                ("unknown command 'NOSUCH'", ("NOSUCH", "x")),
                ("syntax error", ("SET", "a", "b", "WHAT")),
                ("no such key", ("RENAME", "missing", "x")),
                ("DB index is out of range", ("SELECT", 99))]:
            with self.assertRaisesRegex(redis.ResponseError, message):
                r.execute_command(*command)
        self.assertEqual(r.get("text"), "abc")

    def test_databases_and_server(self):
        other = connect(db=3, client_name="tester")
        self.addCleanup(other.close)
        other.set("k", "three")
        self.assertIsNone(self.r.get("k"))
        self.assertEqual(other.client_getname(), "tester")
        self.assertIn("tester", [client["name"] for client in other.client_list()])
        self.assertEqual(other.info("keyspace")["db3"]["keys"], 1)
        self.assertTrue(self.r.swapdb(0, 3))
        self.assertEqual(self.r.get("k"), "three")
        self.assertGreaterEqual(self.r.info("server")["redis_version"], "7.0")
        self.assertEqual(self.r.command()["get"]["arity"], 2)
        self.assertEqual(len(self.r.time()), 2)


if __name__ == "__main__":
    host, _, port = sys.argv.pop(1).rpartition(":")
    HOST, PORT = host, int(port)
    unittest.main(verbosity=2)
