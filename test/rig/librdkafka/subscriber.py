"""A subscriber that shares no code with the product: reads the committed records of one topic while they are written.

Tells every record on a line of its own. When its standard input closes, reads on to the last stable offset that each
partition has then, waits until no transaction is open, and tells where the partitions end.
"""

import base64
import json
import sys
import threading
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

task = json.loads(sys.argv[1])


def tell(what):
    sys.stdout.write(json.dumps(what) + "\n")


def tell_error(error):
    sys.stderr.write(f"{error}\n")


def consumer(isolation):
    return Consumer(
        {
            "bootstrap.servers": task["brokers"],
            "client.id": "independent-subscriber",
            "group.id": "independent-subscriber",
            "enable.auto.commit": False,
            "isolation.level": isolation,
            "enable.partition.eof": True,
            # An offset that is out of range is an error here: starting over would double records.
            "auto.offset.reset": "error",
            "check.crcs": True,
            "fetch.wait.max.ms": 100,
            "fetch.error.backoff.ms": 50,
            "socket.timeout.ms": 6000,
            "reconnect.backoff.max.ms": 500,
            "topic.metadata.refresh.interval.ms": 2000,
            "error_cb": tell_error,
        }
    )


def ends_of(asked):
    while True:
        try:
            return {
                partition: asked.get_watermark_offsets(TopicPartition(task["topic"], partition), timeout=5)[1]
                for partition in range(task["partitions"])
            }
        except KafkaException as error:
            tell_error(error)
            time.sleep(0.2)


committed = consumer("read_committed")
committed.assign([TopicPartition(task["topic"], partition, 0) for partition in range(task["partitions"])])
stopping = threading.Event()


def wait_for_end():
    sys.stdin.read()
    stopping.set()


threading.Thread(target=wait_for_end, daemon=True).start()
next_offset = {partition: 0 for partition in range(task["partitions"])}
goal = None
while True:
    for message in committed.consume(500, timeout=0.1):
        error = message.error()
        partition = message.partition()
        if error is None:
            next_offset[partition] = message.offset() + 1
            value = message.value()
            tell(
                {
                    "partition": partition,
                    "offset": message.offset(),
                    "key": None if message.key() is None else message.key().decode(),
                    "value": None if value is None else base64.b64encode(value).decode(),
                }
            )
        elif error.code() == KafkaError._PARTITION_EOF:
            # Offsets of markers and aborted records lie behind the last record, too.
            next_offset[partition] = max(next_offset[partition], message.offset())
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            # A broker that is cut off still believes that it leads, and has not got that far: asked again, for the same.
            tell_error(error)
            time.sleep(0.2)
            committed.assign([TopicPartition(task["topic"], p, offset) for p, offset in next_offset.items()])
            break
        else:
            tell_error(error)
    sys.stdout.flush()
    if stopping.is_set() and goal is None:
        # Whatever is open when all workers have gone is ended by the broker; readers must see that.
        uncommitted = consumer("read_uncommitted")
        deadline = time.monotonic() + task["transactionSeconds"]
        goal = ends_of(committed)
        high = ends_of(uncommitted)
        while goal != high and time.monotonic() < deadline:
            time.sleep(0.1)
            goal = ends_of(committed)
            high = ends_of(uncommitted)
        uncommitted.close()
    if goal is not None and all(next_offset[partition] >= goal[partition] for partition in goal):
        tell({"stable": list(goal.values()), "high": list(high.values())})
        break
committed.close()
sys.stdout.flush()
