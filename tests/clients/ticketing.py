#!/usr/bin/python3
"""A ticketing system's use of a Redis-protocol store, with redis-py: ticketing.py HOST:PORT

Seat states are 2 bits a seat in a string, all counters of an event are one JSON document, bookings
and the sellout timer are hashes. A reservation finds seats with a script and takes them in one
MULTI / BITFIELD / JSON.NUMINCRBY / HSET / EXEC. The server is emptied. Only the tests of the class
PlainTypes can run on a Redis without JSON.
"""

import datetime
import json
import sys
import threading
import unittest

import redis

HOST, PORT = "127.0.0.1", 6379
TIMEOUT_S = 60
AVAILABLE, RESERVED, SOLD = 0, 1, 2
PREFIX = "test_gw0_"  # keeps parallel test runs apart

FIND_BEST_AVAILABLE = """
local rows, cols, quantity = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if quantity > 4 then return redis.error_reply('INVALID_QUANTITY') end
local runs = {}
for row = 1, rows do
  local gets = {}
  for seat = 1, cols do
    gets[#gets + 1] = 'GET'
    gets[#gets + 1] = 'u2'
    gets[#gets + 1] = 2 * ((row - 1) * cols + seat - 1)
  end
  local states = redis.call('BITFIELD', KEYS[1], unpack(gets))
  local run = {}
  for seat = 1, cols do
    if states[seat] == 0 then
      run[#run + 1] = {row, seat, (row - 1) * cols + seat - 1}
      if #run == quantity then return cjson.encode({seats = run, rows = rows, cols = cols}) end
    elseif #run > 0 then
      runs[#runs + 1] = run
      run = {}
    end
  end
  if #run > 0 then runs[#runs + 1] = run end
end
for i, run in ipairs(runs) do run.order = i end
table.sort(runs, function(a, b) return #a > #b or (#a == #b and a.order < b.order) end)
local seats = {}
for _, run in ipairs(runs) do
  for _, seat in ipairs(run) do
    seats[#seats + 1] = seat
    if #seats == quantity then return cjson.encode({seats = seats, rows = rows, cols = cols}) end
  end
end
return nil
"""

VERIFY_SEATS = """
if #ARGV < 3 then return redis.error_reply('NO_SEATS: none given') end
local found = redis.call('JSON.GET', KEYS[2], "$.sections['" .. ARGV[1] .. "']")
if not found then return redis.error_reply('CONFIG_NOT_FOUND: ' .. ARGV[1]) end
local section = cjson.decode(found)[1]
local names = {[1] = 'RESERVED', [2] = 'SOLD'}
local seats = {}
for i = 3, #ARGV do
  local row, seat = string.match(ARGV[i], '^(%d+)-(%d+)$')
  if not row then return redis.error_reply('INVALID_FORMAT: ' .. ARGV[i]) end
  local index = (row - 1) * section.cols + seat - 1
  local state = redis.call('BITFIELD', KEYS[1], 'GET', 'u2', 2 * index)[1]
  if state ~= 0 then
    return redis.error_reply('SEAT_UNAVAILABLE: Seat ' .. ARGV[1] .. '-' .. ARGV[i] ..
                             ' is already ' .. names[state])
  end
  seats[#seats + 1] = {tonumber(row), tonumber(seat), index}
end
return cjson.encode({seats = seats, rows = section.rows, cols = section.cols, price = section.price})
"""

SAVE_BOOKING = """
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
redis.call('EXPIRE', KEYS[1], ARGV[1])
return redis.status_reply('OK')
"""


def make_key(key):
    return PREFIX + key


def utc_now():
    return datetime.datetime.now(datetime.timezone.utc)


def connect(**options):
    return redis.Redis(host=HOST, port=PORT, socket_timeout=TIMEOUT_S,
                       **{"decode_responses": True, **options})


class Venue(unittest.TestCase):
    """The event of the examples: section A-1 with 25 x 20 seats, B-1 with 20 x 15."""

    def setUp(self):
        self.client = connect()
        self.addCleanup(self.client.close)
        self.client.flushall()
        self.find = self.client.register_script(FIND_BEST_AVAILABLE)
        self.verify = self.client.register_script(VERIFY_SEATS)

    def seats_key(self, section, event=1):
        return make_key(f"seats_bf:{event}:{section}")

    def set_states(self, key, states):
        operations = self.client.bitfield(key)
        for index, state in enumerate(states):
            operations.set("u2", 2 * index, state)
        operations.execute()

    def state(self, key, index):
        return self.client.execute_command("BITFIELD", key, "GET", "u2", 2 * index)[0]


class PlainTypes(Venue):
    def test_seats_are_two_bits_each(self):
        key = self.seats_key("A-1")
        for index, state in [(0, RESERVED), (1, RESERVED), (9, SOLD), (10, SOLD)]:
            self.client.setbit(key, 2 * index, state >> 1)
            self.client.setbit(key, 2 * index + 1, state & 1)
        raw = connect(decode_responses=False)
        self.addCleanup(raw.close)
        self.assertEqual(raw.getrange(key, 0, 999), b"\x50\x00\x28")
        self.assertEqual(raw.get(key), b"\x50\x00\x28")
        states = [self.state(key, index) for index in range(12)]
        self.assertEqual(states, [1, 1, 0, 0, 0, 0, 0, 0, 0, 2, 2, 0])
        self.assertEqual((self.client.getbit(key, 0), self.client.getbit(key, 1)), (0, 1))
        self.client.execute_command("BITFIELD", key, "SET", "u2", 0, SOLD)
        self.assertEqual((self.client.getbit(key, 0), self.client.getbit(key, 1)), (1, 0))
        self.assertEqual(self.client.type(key), "string")

    def test_a_new_section_is_zeros(self):
        key = self.seats_key("A-1")
        pipe = self.client.pipeline(transaction=False)
        for offset in range(2 * 25 * 20):
            pipe.setbit(key, offset, 0)
        self.assertEqual(set(pipe.execute()), {0})
        self.assertEqual(self.client.strlen(key), 125)
        self.assertEqual(self.client.bitcount(key), 0)

    def test_atomic_reservation_with_hash_counters(self):
        bf_key, stats_key = self.seats_key("A-1"), make_key("section_stats:1:A-1")
        booking_key, offset = make_key("booking:b1"), 2 * 7
        self.client.hset(stats_key, mapping={"available": 500, "reserved": 0, "sold": 0})
        pipe = self.client.pipeline(transaction=True)
        pipe.setbit(bf_key, offset, 0)
        pipe.setbit(bf_key, offset + 1, 1)
        pipe.hincrby(stats_key, "available", -1)
        pipe.hincrby(stats_key, "reserved", 1)
        pipe.hgetall(stats_key)
        pipe.hset(booking_key, mapping={"status": "RESERVE_SUCCESS", "reserved_seats": "[]",
                                        "total_price": "1000"})
        pipe.expire(booking_key, 3600)
        stats = {"available": "499", "reserved": "1", "sold": "0"}
        self.assertEqual(pipe.execute(), [0, 0, 499, 1, stats, 3, True])
        self.assertEqual(self.state(bf_key, 7), RESERVED)
        self.assertIn(self.client.ttl(booking_key), range(3000, 3601))
        self.client.hset(booking_key, "status", "PAID")
        self.assertIn(self.client.ttl(booking_key), range(3000, 3601))  # HSET keeps it

    def test_the_first_ticket_keeps_its_time(self):
        timer_key = make_key("event_sellout_timer:1")
        requests = []
        for now in ["2025-11-05T10:30:15.100000+00:00", "2025-11-05T10:30:15.120000+00:00"]:
            pipe = self.client.pipeline(transaction=True)
            pipe.hsetnx(timer_key, "first_ticket_reserved_at", now)
            requests.append(pipe)
        self.assertEqual([pipe.execute() for pipe in requests], [[1], [0]])
        self.assertEqual(self.client.hgetall(timer_key),
                         {"first_ticket_reserved_at": "2025-11-05T10:30:15.100000+00:00"})

    def test_section_index(self):
        index = make_key("event_sections:1")
        for section in ["B-1", "A-2", "A-1"]:
            self.client.zadd(index, {section: 0})
        self.assertEqual(self.client.zrange(index, 0, -1), ["A-1", "A-2", "B-1"])

    def test_bookings_are_written_by_a_script(self):
        save = self.client.register_script(SAVE_BOOKING)
        key = make_key("booking:b2")
        fields = ["booking_id", "b2", "quantity", "2", "status", "PENDING_RESERVATION"]
        self.assertEqual(save(keys=[key], args=[3600, *fields]), "OK")
        self.assertEqual(self.client.hget(key, "status"), "PENDING_RESERVATION")
        self.assertIn(self.client.ttl(key), range(3000, 3601))
        self.assertEqual(self.client.delete(key), 1)

    def test_best_available(self):
        for states, cols, quantity, expected in [
                ("00000", 5, 3, ["1-1", "1-2", "1-3"]),
                ("110000", 3, 2, ["2-1", "2-2"]),
                ("010", 3, 2, ["1-1", "1-3"]),
                ("110000000000", 4, 2, ["1-3", "1-4"]),
                ("01010", 5, 2, ["1-1", "1-3"]),
                ("02000", 5, 3, ["1-3", "1-4", "1-5"]),
                ("100110011111111", 5, 4, ["1-2", "1-3", "2-1", "2-2"]),
                ("0120120021", 10, 2, ["1-7", "1-8"]),
                ("0110110110", 10, 4, ["1-1", "1-4", "1-7", "1-10"]),
                ("000101", 6, 4, ["1-1", "1-2", "1-3", "1-5"]),
                ("11111", 5, 1, None),
                ("00111", 5, 4, None)]:
            with self.subTest(states=states, quantity=quantity):
                key = self.seats_key("S-1")
                self.client.delete(key)
                self.set_states(key, [int(state) for state in states])
                found = self.find(keys=[key], args=[len(states) // cols, cols, quantity])
                seats = found and [f"{row}-{seat}" for row, seat, _ in json.loads(found)["seats"]]
                self.assertEqual(seats, expected)
        with self.assertRaisesRegex(redis.ResponseError, "INVALID_QUANTITY"):
            self.find(keys=[key], args=[1, 5, 5])


class Document(Venue):
    def setUp(self):
        super().setUp()
        self.state_key = make_key("event_state:1")
        self.create_event(self.state_key, {"A-1": (25, 20, 1000), "B-1": (20, 15, 2000)})

    def create_event(self, key, sections):
        def stats(total):
            return {"available": total, "reserved": 0, "sold": 0, "total": total,
                    "updated_at": 1234567890}

        self.document = {
            "event_stats": stats(sum(rows * cols for rows, cols, _ in sections.values())),
            "sections": {name: {"rows": rows, "cols": cols, "price": price,
                                "stats": stats(rows * cols)}
                         for name, (rows, cols, price) in sections.items()}}
        text = json.dumps(self.document)
        self.assertEqual(self.client.execute_command("JSON.SET", key, "$", text), "OK")

    def get(self, path):
        return json.loads(self.client.execute_command("JSON.GET", self.state_key, path))

    def count(self, section):
        """available and reserved, of the section and of the event."""
        [event], [stats] = self.get("$.event_stats"), self.get(f"$.sections['{section}'].stats")
        return [(stats["available"], stats["reserved"]), (event["available"], event["reserved"])]

    def reserve(self, client, section, quantity, booking_id):
        """As a consumer does it: find by script, read the counters, take in one transaction."""
        bf_key, timer_key = self.seats_key(section), make_key("event_sellout_timer:1")
        config = self.document["sections"][section]
        found = self.find(keys=[bf_key], args=[config["rows"], config["cols"], quantity],
                          client=client)
        if found is None:
            return None
        seats = json.loads(found)["seats"]
        result = client.execute_command("JSON.GET", self.state_key, "$.event_stats")
        current_reserved_count = int(json.loads(result)[0].get("reserved", 0))

        pipe = client.pipeline(transaction=True)
        for _, _, index in seats:
            pipe.execute_command("BITFIELD", bf_key, "SET", "u2", 2 * index, RESERVED)
        for where in [f"$.sections['{section}'].stats", "$.event_stats"]:
            pipe.execute_command("JSON.NUMINCRBY", self.state_key, f"{where}.available", -quantity)
            pipe.execute_command("JSON.NUMINCRBY", self.state_key, f"{where}.reserved", quantity)
        pipe.execute_command("JSON.GET", self.state_key, "$")
        names = [f"{section}-{row}-{seat}" for row, seat, _ in seats]
        pipe.hset(make_key(f"booking:{booking_id}"), mapping={
            "status": "RESERVE_SUCCESS", "reserved_seats": json.dumps(names),
            "total_price": str(config["price"] * quantity)})
        if current_reserved_count == 0:
            pipe.hsetnx(timer_key, "first_ticket_reserved_at", utc_now().isoformat())
        replies = pipe.execute()
        self.assertEqual(replies[:quantity], [[AVAILABLE]] * quantity)  # nobody had them
        after = json.loads(replies[quantity + 4])[0]
        if after["event_stats"]["available"] == 0:
            self.track_sellout(client, timer_key)
        return replies, names

    def track_sellout(self, client, timer_key):
        first_time = client.hget(timer_key, "first_ticket_reserved_at")
        fully_reserved_at = utc_now()
        duration = fully_reserved_at - datetime.datetime.fromisoformat(first_time)
        client.hset(timer_key, mapping={"fully_reserved_at": fully_reserved_at.isoformat(),
                                        "duration_seconds": str(duration.total_seconds())})

    def test_the_document_comes_back_as_an_array_of_one(self):
        result = self.client.execute_command("JSON.GET", self.state_key, "$")
        self.assertIsInstance(result, str)
        self.assertEqual(json.loads(result), [self.document])
        stats = self.client.execute_command("JSON.GET", self.state_key, "$.event_stats")
        self.assertEqual(json.loads(stats), [{"available": 800, "reserved": 0, "sold": 0,
                                              "total": 800, "updated_at": 1234567890}])

    def test_the_document_is_compact_and_in_order(self):
        compact = json.dumps([self.document], separators=(",", ":"))
        self.assertEqual(self.client.execute_command("JSON.GET", self.state_key, "$"), compact)

    def test_counters(self):
        path = "$.sections['A-1'].stats.available"
        increment = lambda path, by: self.client.execute_command(
            "JSON.NUMINCRBY", self.state_key, path, by)
        self.assertEqual(increment(path, -1), "[499]")
        self.assertEqual(increment(path, -2), "[497]")
        self.assertEqual(increment("$.event_stats.available", -3), "[797]")
        self.assertEqual(increment("$.sections['Z-9'].stats.available", -1), "[]")
        self.assertEqual(increment("$.sections['A-1'].stats", -1), "[null]")
        self.assertEqual(self.get(path), [497])
        with self.assertRaises(redis.ResponseError):
            self.client.execute_command("JSON.NUMINCRBY", make_key("event_state:2"), path, -1)
        self.assertIsNone(self.client.execute_command("JSON.GET", make_key("event_state:2"), "$"))

    def test_atomic_reservation(self):
        replies, names = self.reserve(self.client, "A-1", 2, "b1")
        self.assertEqual(names, ["A-1-1-1", "A-1-1-2"])
        self.assertEqual(replies[:6], [[0], [0], "[498]", "[2]", "[798]", "[2]"])
        self.assertEqual(replies[7:], [3, 1])
        after = json.loads(replies[6])[0]
        self.assertEqual(after["sections"]["A-1"]["stats"]["available"], 498)
        self.assertEqual(after["sections"]["B-1"], self.document["sections"]["B-1"])
        self.assertEqual([self.state(self.seats_key("A-1"), index) for index in range(3)],
                         [RESERVED, RESERVED, AVAILABLE])
        self.assertEqual(self.client.hgetall(make_key("booking:b1")), {
            "status": "RESERVE_SUCCESS", "reserved_seats": '["A-1-1-1", "A-1-1-2"]',
            "total_price": "2000"})
        replies, names = self.reserve(self.client, "A-1", 1, "b2")
        self.assertEqual(names, ["A-1-1-3"])
        self.assertEqual(len(replies), 7)  # not the first ticket any more
        self.assertEqual(self.count("A-1"), [(497, 3), (797, 3)])

    def test_a_discarded_reservation_leaves_nothing(self):
        other = connect()
        self.addCleanup(other.close)
        pipe = self.client.pipeline(transaction=True)
        pipe.watch(self.state_key)
        other.execute_command("JSON.NUMINCRBY", self.state_key, "$.event_stats.sold", 1)
        pipe.multi()
        pipe.execute_command("BITFIELD", self.seats_key("A-1"), "SET", "u2", 0, RESERVED)
        pipe.execute_command("JSON.NUMINCRBY", self.state_key, "$.event_stats.reserved", 1)
        with self.assertRaises(redis.WatchError):
            pipe.execute()
        self.assertEqual(self.client.exists(self.seats_key("A-1")), 0)
        self.assertEqual(self.get("$.event_stats.reserved"), [0])

    def test_a_failing_command_does_not_undo_the_others(self):
        booking_key = make_key("booking:b1")
        self.client.set(booking_key, "not a hash")
        pipe = self.client.pipeline(transaction=True)
        pipe.execute_command("JSON.NUMINCRBY", self.state_key, "$.event_stats.available", -1)
        pipe.hset(booking_key, "status", "RESERVE_SUCCESS")
        pipe.execute_command("BITFIELD", self.seats_key("A-1"), "SET", "u2", 0, RESERVED)
        replies = pipe.execute(raise_on_error=False)
        self.assertEqual((replies[0], replies[2]), ("[799]", [0]))
        self.assertIsInstance(replies[1], redis.ResponseError)
        self.assertEqual(self.get("$.event_stats.available"), [799])

    def test_chosen_seats_are_verified_by_a_script(self):
        keys = [self.seats_key("A-1"), self.state_key]
        check = lambda *seats: self.verify(keys=keys, args=["A-1", len(seats), *seats])
        self.assertEqual(json.loads(check("1-1", "2-11")),
                         {"seats": [[1, 1, 0], [2, 11, 30]], "rows": 25, "cols": 20, "price": 1000})
        self.set_states(keys[0], [0, 0, 0, 0, RESERVED, SOLD])
        for seats, message in [
                (["1-1", "1-5"], "SEAT_UNAVAILABLE: Seat A-1-1-5 is already RESERVED"),
                (["1-6", "1-5"], "SEAT_UNAVAILABLE: Seat A-1-1-6 is already SOLD"),
                (["seat"], "INVALID_FORMAT: seat"), ([], "NO_SEATS: none given")]:
            with self.assertRaises(redis.ResponseError) as raised:
                check(*seats)
            self.assertEqual(str(raised.exception), message)
        keys[1] = make_key("event_state:2")
        with self.assertRaisesRegex(redis.ResponseError, "CONFIG_NOT_FOUND"):
            check("1-1")

    def test_the_nested_shape_with_numeric_names(self):
        key = make_key("event_state:3")
        stats = {"available": 500, "reserved": 0}
        document = {"sections": {"A": {"price": 1000, "subsections": {
            "1": {"rows": 25, "cols": 20, "stats": stats}}}}}
        self.client.execute_command("JSON.SET", key, "$", json.dumps(document))
        self.assertEqual(self.client.execute_command(
            "JSON.NUMINCRBY", key, "$.sections['A'].subsections['1'].stats.available", -4), "[496]")
        dotted = self.client.eval(
            "return cjson.decode(redis.call('JSON.GET', KEYS[1], ARGV[1]))[1].stats.available",
            1, key, "$.sections.A.subsections.1")
        self.assertEqual(dotted, 496)

    def test_sellout_by_one_consumer_per_section(self):
        sections = {f"{letter}-1": (5, 10, 1000) for letter in "ABCD"}
        self.create_event(self.state_key, sections)
        sold = {section: [] for section in sections}

        def consume(section):
            with connect() as client:
                while sum(map(len, sold[section])) < 50:
                    left = 50 - sum(map(len, sold[section]))
                    booking = f"{section}:{len(sold[section])}"
                    _, names = self.reserve(client, section, min(left, 1 + left % 4), booking)
                    sold[section].append(names)

        threads = [threading.Thread(target=consume, args=[section]) for section in sections]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for section, bookings in sold.items():
            self.assertEqual(len({name for names in bookings for name in names}), 50)
            self.assertEqual(self.count(section), [(0, 50), (0, 200)])
            self.assertIsNone(self.reserve(self.client, section, 1, "late"))
            states = [self.state(self.seats_key(section), index) for index in range(50)]
            self.assertEqual(set(states), {RESERVED})
        timer = self.client.hgetall(make_key("event_sellout_timer:1"))
        self.assertEqual(set(timer), {"first_ticket_reserved_at", "fully_reserved_at",
                                      "duration_seconds"})
        first, last = (datetime.datetime.fromisoformat(timer[field])
                       for field in ("first_ticket_reserved_at", "fully_reserved_at"))
        self.assertEqual(float(timer["duration_seconds"]), (last - first).total_seconds())
        self.assertEqual(len(self.client.keys(make_key("booking:*"))),
                         sum(len(bookings) for bookings in sold.values()))
        self.assertEqual(self.client.keys(make_key("event_state:*")), [self.state_key])


if __name__ == "__main__":
    host, _, port = sys.argv.pop(1).rpartition(":")
    HOST, PORT = host, int(port)
    unittest.main(verbosity=2)
