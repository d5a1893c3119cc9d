"""Sensors that share no code with the product: an idempotent producer of JSON observations.

Sends one step of all series after another at an even rate until its standard input closes, then flushes. Tells every
acknowledged record on a line of its own. An acknowledgement that is never lost in the end: records have no timeout.
"""

import json
import math
import random
import sys
import threading
import time

from confluent_kafka import KafkaException, Producer

task = json.loads(sys.argv[1])
failures = []


def tell_delivery(error, message):
    if error is not None:
        failures.append(str(error))
        return
    offset = message.offset()
    told = {
        "partition": message.partition(),
        # A retry that the broker had already stored may come back without its offset.
        "offset": offset if offset is not None and offset >= 0 else None,
        "observation": json.loads(message.value()),
    }
    sys.stdout.write(json.dumps(told) + "\n")


def tell_error(error):
    sys.stderr.write(f"{error}\n")


def observation(index, step, noise):
    wave = task["amplitude"] * math.sin(2 * math.pi * (step + index) / task["period"])
    value = 100.0 * index + wave + noise.gauss(0, task["noise"])
    return {"seriesId": f"series-{index}", "time": task["firstTimeMs"] + step * task["stepMs"], "value": value}


producer = Producer(
    {
        "bootstrap.servers": task["brokers"],
        "client.id": "independent-producer",
        "enable.idempotence": True,
        "acks": "all",
        "compression.type": task["compression"],
        "linger.ms": 5,
        "message.timeout.ms": 0,
        "request.timeout.ms": 4000,
        "socket.timeout.ms": 8000,
        "retry.backoff.ms": 50,
        "reconnect.backoff.max.ms": 500,
        "topic.metadata.refresh.interval.ms": 3000,
        "error_cb": tell_error,
    }
)
stopping = threading.Event()


def wait_for_end():
    sys.stdin.read()
    stopping.set()


threading.Thread(target=wait_for_end, daemon=True).start()
noise = random.Random(task["seed"])
pause = task["series"] / task["perSecond"]
due = time.monotonic()
step = 0
while not stopping.is_set() and not failures:
    for index in range(task["series"]):
        sent = observation(index, step, noise)
        while True:
            try:
                producer.produce(
                    task["topic"],
                    key=sent["seriesId"],
                    value=json.dumps(sent),
                    partition=index % task["partitions"],
                    on_delivery=tell_delivery,
                )
                break
            except BufferError:
                producer.poll(0.1)
    step += 1
    # Never catches up after a standstill: the rate is the most there is.
    due = max(due + pause, time.monotonic())
    while True:
        left = due - time.monotonic()
        producer.poll(max(0, min(left, 0.05)))
        if left <= 0 or stopping.is_set():
            break
    sys.stdout.flush()

try:
    left = producer.flush(task["flushSeconds"])
except KafkaException as error:
    failures.append(str(error))
    left = -1
sys.stdout.flush()
if left != 0 or failures:
    sys.exit(f"{left} records were not acknowledged; {failures[:5]}")
