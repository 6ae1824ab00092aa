#!/usr/bin/env python3
"""A box office over the Redis protocol (python3-redis).

  examples/seats/box_office_resp.py [HOST:PORT]
"""

import json
import sys
import uuid

import redis


def main():
    host, _, port = (sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:6666").rpartition(":")
    client = redis.Redis(host=host, port=int(port), decode_responses=True)
    event = f"concert-{uuid.uuid4().hex[:8]}"

    client.execute_command("SEAT.CREATE", event, json.dumps({
        "name": "A concert", "hold_seconds": 600,
        "sections": [{"name": "A", "subsections": 2, "rows": 5, "cols": 8, "price": 4500}]}))

    # Two seats next to each other, and a line in the mail queue: one transaction, both or neither.
    booking = f"{event}:1"
    pipe = client.pipeline(transaction=True)
    pipe.execute_command("SEAT.RESERVE", event, booking, "A-1", "BUYER", "ann", "ADJACENT",
                         "PREFER", "CENTER", "BEST", "2")
    pipe.rpush(f"mail:{event}", json.dumps({"booking": booking, "text": "pay within ten minutes"}))
    answer = json.loads(pipe.execute()[0])
    print("ann holds", answer["booking"]["seats"], "until", answer["booking"]["expires_at"])

    # Whoever asks for the same seats is told which one is gone.
    try:
        client.execute_command("SEAT.RESERVE", event, f"{event}:2", "A-1", "SEATS",
                               *answer["booking"]["seats"])
    except redis.ResponseError as refusal:
        print("bob is refused:", refusal)

    # Asked twice because an answer got lost: done once.
    for _ in range(2):
        paid = json.loads(client.execute_command("SEAT.PAY", event, booking, "SECTION", "A-1"))
    print("ann has paid", paid["booking"]["total_price"], "at", paid["booking"]["paid_at"])

    for row in json.loads(client.execute_command("SEAT.MAP", event, "A-1"))["seats"]:
        print("  ", row)
    report = json.loads(client.execute_command("SEAT.VERIFY", event))
    print("everything agrees" if report["sound"] else report["problems"])


if __name__ == "__main__":
    main()
