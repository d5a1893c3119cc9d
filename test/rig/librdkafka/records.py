# Writes and reads records through librdkafka. Takes one JSON object on standard input:
#   {"do": "write", "bootstrap", "topic", "compression", "records"} or {"do": "read", "bootstrap", "topic", "count"}
# A read prints the records. A record is {"key", "value", "headers": [[name, value], …]}, contents in base64 or null.

import base64
import json
import sys

from confluent_kafka import Consumer, Producer, TopicPartition


def to_bytes(text):
    return None if text is None else base64.b64decode(text)


def to_text(content):
    return None if content is None else base64.b64encode(content).decode()


def write(task):
    producer = Producer({
        "bootstrap.servers": task["bootstrap"],
        "compression.type": task["compression"],
        # The records come as one batch: nothing is sent before flush() says so.
        "linger.ms": 60_000,
        "batch.size": 10_000_000,
        "message.max.bytes": 10_000_000,
    })
    # Records of a topic not yet known are queued one by one when it is, and flush() would send the first alone.
    producer.list_topics(task["topic"], 30)
    failures = []
    for record in task["records"]:
        producer.produce(
            task["topic"],
            key=to_bytes(record["key"]),
            value=to_bytes(record["value"]),
            headers=[(name, to_bytes(value)) for name, value in record["headers"]],
            partition=0,
            on_delivery=lambda error, _: failures.append(str(error)) if error else None,
        )
    if producer.flush(30) > 0 or failures:
        sys.exit(f"not all records were written: {failures[:3]}")


def read(task):
    # Seen once: a consumer that was never sent anything. What it logged is told if others fare no better.
    for _ in range(3):
        records = read_by_one_consumer(task)
        if len(records) == task["count"]:
            json.dump(records, sys.stdout)
            return
        print(f"only {len(records)} of {task['count']} records came", file=sys.stderr)
    sys.exit("none of three consumers got all records")


def read_by_one_consumer(task):
    consumer = Consumer({
        "bootstrap.servers": task["bootstrap"],
        "group.id": "never-joined",
        "enable.auto.commit": False,
        "check.crcs": True,
        "debug": "broker,metadata,topic,fetch",
    })
    consumer.assign([TopicPartition(task["topic"], 0, 0)])
    records = []
    while len(records) < task["count"]:
        message = consumer.poll(20)
        if message is None:
            break
        if message.error():
            sys.exit(f"after {len(records)} records: {message.error()}")
        headers = [[name, to_text(value)] for name, value in message.headers() or []]
        records.append({"key": to_text(message.key()), "value": to_text(message.value()), "headers": headers})
    consumer.close()
    return records


task = json.load(sys.stdin)
{"write": write, "read": read}[task["do"]](task)
