#!/usr/bin/env python3
"""A box office over HTTP, with a live view of the house.

  examples/seats/box_office_http.py [http://HOST:PORT]
"""

import json
import sys
import threading
import urllib.error
import urllib.request
import uuid

SERVER = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"


def post(path, body=None):
    """Status and answer; a refusal is an answer too."""
    request = urllib.request.Request(SERVER + path, method="POST",
                                     data=json.dumps(body).encode() if body is not None else b"",
                                     headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)


def get(path):
    with urllib.request.urlopen(SERVER + path) as reply:
        return json.load(reply)


def watch(event, started, changes):
    """Prints what happens to the seats until `changes` changes have come."""
    with urllib.request.urlopen(f"{SERVER}/v1/events/{event}/stream") as stream:
        for line in stream:
            if not line.startswith(b"data: "):
                continue
            data = json.loads(line[6:])
            if "change" not in data:
                print("live:", data["stats"]["available"], "seats available")
                started.set()
                continue
            print("live:", data["change"], data["section"], *data["seats"], "-",
                  data["event_stats"]["available"], "left")
            changes -= 1
            if changes == 0:
                return


def main():
    event = f"play-{uuid.uuid4().hex[:8]}"
    status, _ = post("/v1/events", {
        "id": event, "name": "A play", "max_per_buyer": 4,
        "sections": [{"name": "stalls", "rows": 3, "cols": 6, "price": 2000},
                     {"name": "balcony", "rows": 2, "cols": 6, "price": 1200}]})
    print("created:", status)

    started = threading.Event()
    viewer = threading.Thread(target=watch, args=[event, started, 4])
    viewer.start()
    started.wait()

    status, held = post(f"/v1/events/{event}/bookings", {
        "booking_id": f"{event}:1", "buyer": "ann", "section": "any", "quantity": 2,
        "max_price": 1500, "avoid_orphans": True})
    print(status, "ann holds", held["booking"]["section"], held["booking"]["seats"])

    status, taken = post(f"/v1/events/{event}/bookings", {
        "booking_id": f"{event}:2", "buyer": "bob", "section": held["booking"]["section"],
        "seats": held["booking"]["seats"][:1]})
    print(status, taken["error"]["code"], taken["error"]["seat"])

    status, paid = post(f"/v1/bookings/{event}:1/pay")
    print(status, "ann's booking is", paid["booking"]["status"])

    status, held = post(f"/v1/events/{event}/bookings", {
        "booking_id": f"{event}:3", "buyer": "bob", "section": "stalls-1", "seats": ["2-3", "2-4"]})
    print(status, "bob holds", held["booking"]["seats"])
    status, _ = post(f"/v1/bookings/{event}:3/cancel")
    print(status, "bob has changed his mind")

    viewer.join()
    print("everything agrees" if get(f"/v1/events/{event}/verify")["sound"] else "it does not agree")


if __name__ == "__main__":
    main()
