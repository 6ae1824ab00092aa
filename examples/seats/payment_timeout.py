#!/usr/bin/env python3
"""Seats, an order and the job that ends it if nobody pays: one transaction (python3-redis).

The three are in one MULTI, so a crash leaves all of them or none: no seats without the job that
looks after them, no job for an order that does not exist.

  examples/seats/payment_timeout.py [HOST:PORT]
"""

import json
import sys
import uuid

import redis

PAYMENT_TIME_MS = 500  # minutes in a real box office


def check_out(client, event, order, buyer):
    """Holds two seats for an order. The hold outlasts the job, which is what ends it."""
    pipe = client.pipeline(transaction=True)
    pipe.execute_command("SEAT.RESERVE", event, order, "A-1", "BUYER", buyer, "HOLD", "3600",
                         "BEST", "2")
    pipe.hset(f"order:{order}", mapping={"buyer": buyer, "status": "waiting for payment"})
    pipe.execute_command("JOB.ENQUEUE", "payment-timeouts", json.dumps({"event": event, "order": order}),
                         "DELAY", str(PAYMENT_TIME_MS))
    answer, _, (job, state) = pipe.execute()
    seats = json.loads(answer)["booking"]["seats"]
    print(f"{buyer} holds {seats}; job {job} is {state}")


def pay(client, event, order):
    pipe = client.pipeline(transaction=True)
    pipe.execute_command("SEAT.PAY", event, order, "SECTION", "A-1")
    pipe.hset(f"order:{order}", "status", "paid")
    pipe.execute()


def work(client, jobs):
    """The worker: what an order has come to, and the end of its job, are one transaction too."""
    for _ in range(jobs):
        ((*job,),) = client.execute_command("JOB.FETCH", "BLOCK", "10000", "QUEUES", "payment-timeouts")
        job = dict(zip(job[::2], job[1::2]))
        task = json.loads(job["payload"])
        order = f"order:{task['order']}"
        pipe = client.pipeline(transaction=True)
        if client.hget(order, "status") != "paid":
            pipe.execute_command("SEAT.RELEASE", task["event"], task["order"], "SECTION", "A-1")
            pipe.hset(order, "status", "not paid in time")
        pipe.execute_command("JOB.ACK", job["job_id"], "TOKEN", job["lease_token"])
        pipe.execute()
        print(client.hget(order, "buyer"), "has", client.hget(order, "status"))


def main():
    host, _, port = (sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:6666").rpartition(":")
    client = redis.Redis(host=host, port=int(port), decode_responses=True)
    event = f"concert-{uuid.uuid4().hex[:8]}"
    client.execute_command("SEAT.CREATE", event, json.dumps({
        "sections": [{"name": "A", "rows": 2, "cols": 4, "price": 4500}]}))

    check_out(client, event, f"{event}:ann", "ann")
    check_out(client, event, f"{event}:bob", "bob")
    pay(client, event, f"{event}:ann")
    work(client, 2)

    for row in json.loads(client.execute_command("SEAT.MAP", event, "A-1"))["seats"]:
        print("  ", row)


if __name__ == "__main__":
    main()
