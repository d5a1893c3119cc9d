"""The cold tier's job as a Python consumer: confluent-kafka, numpy and fastavro.

Observations in, for every one of them a seasonal-naive forecast out, exactly once: forecasts, the past of each series (to a
compacted changelog) and the offsets are committed in one transaction. At an assignment, the past is rebuilt from the changelog.
Leaves out what the worker does beyond that: scores, calibration, persistence for young series, and rules for late points and
gaps (a gap starts the past anew).

Takes one JSON object as its argument: bootstrap, group, input, forecasts, state, schemas (folder), batch (the most observations
of a transaction) and numpy ("batch" forecasts all series of a batch at once, "single" one after the other). Prints "ready" once it
has its partitions, and ends when its standard input closes.
"""

import io
import json
import os
import struct
import sys
import threading

import numpy as np
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from fastavro import schemaless_reader, schemaless_writer
from fastavro.schema import fingerprint, load_schema, to_parsing_canonical_form

HORIZON = 24
SEASON = 24
STEP_MS = 60_000
LEVELS = np.array([0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975])
# The band comes from the errors of at most as many last steps, and there is no forecast with fewer than FEWEST_ERRORS.
MOST_ERRORS = 100
FEWEST_ERRORS = 30
MOST_VALUES = SEASON + MOST_ERRORS
VERSION = "seasonal-naive-2"
PAUSE_MS = 1_200_000

AHEAD = np.arange(HORIZON)
# Spread of a random walk from season to season: √k in the k-th season ahead.
GROWTH = np.sqrt(AHEAD // SEASON + 1)


class Codec:
    """Avro's single-object encoding of one schema."""

    def __init__(self, folder, name):
        self.schema = load_schema(os.path.join(folder, f"{name}.avsc"))
        canonical = to_parsing_canonical_form(self.schema)
        self.header = b"\xc3\x01" + bytes.fromhex(fingerprint(canonical, "CRC-64-AVRO"))

    def decode(self, value):
        if not value.startswith(self.header):
            raise ValueError(f"not a {self.schema['name']} of this version")
        stream = io.BytesIO(value)
        stream.seek(len(self.header))
        return schemaless_reader(stream, self.schema, None)

    def encode(self, record):
        stream = io.BytesIO()
        stream.write(self.header)
        schemaless_writer(stream, self.schema, record)
        return stream.getvalue()


class Pasts:
    """Unbroken steps of all series: how many there were, when the last was, and the last values, newest at the right."""

    HEAD = struct.Struct("<qi")

    def __init__(self):
        self.row_by_series = {}
        self.values = np.full((1024, MOST_VALUES), np.nan)
        self.last_ms = np.zeros(1024, dtype=np.int64)
        self.steps = np.zeros(1024, dtype=np.int64)

    def row_of(self, series_id):
        row = self.row_by_series.setdefault(series_id, len(self.row_by_series))
        if row == len(self.steps):
            self.values = np.vstack([self.values, np.full_like(self.values, np.nan)])
            self.last_ms = np.concatenate([self.last_ms, np.zeros_like(self.last_ms)])
            self.steps = np.concatenate([self.steps, np.zeros_like(self.steps)])
        return row

    def append(self, rows, times_ms, values):
        """One observation for each row; no row twice. Returns which of them are newer than the past."""
        is_new = (self.steps[rows] == 0) | (times_ms > self.last_ms[rows])
        rows, times_ms, values = rows[is_new], times_ms[is_new], values[is_new]
        broken = rows[times_ms != self.last_ms[rows] + STEP_MS]
        self.values[broken] = np.nan
        self.steps[broken] = 0
        self.values[rows, :-1] = self.values[rows, 1:]
        self.values[rows, -1] = values
        self.last_ms[rows] = times_ms
        self.steps[rows] += 1
        return is_new

    def encode(self, row):
        kept = min(MOST_VALUES, int(self.steps[row]))
        head = self.HEAD.pack(int(self.last_ms[row]), int(self.steps[row]))
        return head + self.values[row, MOST_VALUES - kept :].tobytes()

    def restore(self, series_id, stored):
        row = self.row_of(series_id)
        self.last_ms[row], self.steps[row] = self.HEAD.unpack_from(stored)
        kept = np.frombuffer(stored, offset=self.HEAD.size)
        self.values[row] = np.nan
        self.values[row, MOST_VALUES - len(kept) :] = kept

    def forecast(self, rows):
        """Means [row][step], standard deviations [row][step] and quantiles [row][level][step]."""
        past = self.values[rows]
        mean = past[:, MOST_VALUES - SEASON + AHEAD % SEASON]
        # Errors of "the same as one season ago". Those not known yet are NaN, which sorts last.
        errors = np.sort(past[:, SEASON:] - past[:, :-SEASON], axis=1)
        counts = np.minimum(self.steps[rows] - SEASON, MOST_ERRORS)
        deviation = np.sqrt(np.nansum(errors**2, axis=1) / counts)
        bands = quantiles_of(errors, counts, LEVELS) - quantiles_of(errors, counts, np.array([0.5]))
        quantiles = mean[:, None, :] + bands[:, :, None] * GROWTH
        return mean, deviation[:, None] * GROWTH, quantiles


def quantiles_of(ordered, counts, levels):
    """Linear between the order statistics on both sides of position level × (count − 1)."""
    positions = levels * (counts[:, None] - 1)
    below = positions.astype(np.int64)
    above = np.minimum(below + 1, counts[:, None] - 1)
    low = np.take_along_axis(ordered, below, axis=1)
    high = np.take_along_axis(ordered, above, axis=1)
    return low + (high - low) * (positions - below)


class ColdTier:
    def __init__(self, task):
        self.task = task
        self.observations = Codec(task["schemas"], "Observation")
        self.forecasts = Codec(task["schemas"], "single/Forecast")
        self.pasts = Pasts()
        common = {"bootstrap.servers": task["bootstrap"]}
        reading = {**common, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        self.restorer = Consumer({**reading, "group.id": f"{task['group']}-restore", "enable.partition.eof": True})
        # The bench pauses the process when it is not its turn; it must not lose its partitions by that.
        patience = {"session.timeout.ms": PAUSE_MS, "max.poll.interval.ms": PAUSE_MS}
        self.consumer = Consumer({**reading, **patience, "group.id": task["group"]})
        self.producer = Producer({**common, "transactional.id": task["group"]})
        self.producer.init_transactions()

    def run(self, ended):
        self.consumer.subscribe([self.task["input"]], on_assign=self.on_assign)
        while not ended.is_set():
            messages = self.consumer.consume(self.task["batch"], timeout=0.1)
            if messages:
                self.transact(messages)
        self.consumer.close()

    def on_assign(self, _consumer, partitions):
        self.restore([partition.partition for partition in partitions])
        print("ready", flush=True)

    def restore(self, partitions):
        """What is in memory already is overwritten: another consumer may have moved it on."""
        waiting = set(partitions)
        self.restorer.assign([TopicPartition(self.task["state"], p, OFFSET_BEGINNING) for p in partitions])
        while waiting:
            for message in self.restorer.consume(1000, timeout=1.0):
                if message.error() is None:
                    self.pasts.restore(message.key().decode(), message.value())
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    waiting.discard(message.partition())
                else:
                    raise KafkaException(message.error())
        self.restorer.unassign()

    def transact(self, messages):
        self.producer.begin_transaction()
        partition_by_row = {}
        series_by_row = {}
        for wave in self.waves_of(messages, partition_by_row, series_by_row):
            self.forecast_wave(wave, partition_by_row, series_by_row)
        for row, partition in partition_by_row.items():
            self.produce(self.task["state"], series_by_row[row], self.pasts.encode(row), partition)
        offsets = self.consumer.position(self.consumer.assignment())
        self.producer.send_offsets_to_transaction(offsets, self.consumer.consumer_group_metadata())
        self.producer.commit_transaction()

    def waves_of(self, messages, partition_by_row, series_by_row):
        """Observations in runs that numpy works through at once: in a run, no series has two."""
        waves = []
        seen = {}
        for message in messages:
            if message.error() is not None:
                raise KafkaException(message.error())
            observation = self.observations.decode(message.value())
            series_id = observation["seriesId"]
            row = self.pasts.row_of(series_id)
            partition_by_row[row] = message.partition()
            series_by_row[row] = series_id
            number = seen.get(row, 0) if self.task["numpy"] == "batch" else len(waves)
            seen[row] = number + 1
            if number == len(waves):
                waves.append([])
            time_ms = round(observation["time"].timestamp() * 1000)
            waves[number].append((row, time_ms, observation["value"]))
        return waves

    def forecast_wave(self, wave, partition_by_row, series_by_row):
        rows, times_ms, values = (np.array(column) for column in zip(*wave))
        rows = rows[self.pasts.append(rows, times_ms, values)]
        rows = rows[self.pasts.steps[rows] >= SEASON + FEWEST_ERRORS]
        if len(rows) == 0:
            return
        mean, deviation, quantiles = (numbers.tolist() for numbers in self.pasts.forecast(rows))
        origins = self.pasts.last_ms[rows].tolist()
        steps = self.pasts.steps[rows].tolist()
        for i, row in enumerate(rows.tolist()):
            series_id = series_by_row[row]
            forecast = {
                "id": f"{series_id}@{origins[i]}/{VERSION}",
                "seriesId": series_id,
                "origin": origins[i],
                "interval": "PT1M",
                "horizon": HORIZON,
                "channels": 1,
                "times": list(range(origins[i] + STEP_MS, origins[i] + (HORIZON + 1) * STEP_MS, STEP_MS)),
                "mean": mean[i],
                "standardDeviation": deviation[i],
                "quantiles": [
                    {"level": level, "values": values} for level, values in zip(LEVELS.tolist(), quantiles[i])
                ],
                "tier": "COLD",
                "method": "seasonal-naive",
                "modelKey": series_id,
                "modelVersion": VERSION,
                "filledShare": 0.0,
                "freshSteps": steps[i],
                "skippedOrigins": 0,
            }
            self.produce(self.task["forecasts"], series_id, self.forecasts.encode(forecast), partition_by_row[row])

    def produce(self, topic, key, value, partition):
        while True:
            try:
                return self.producer.produce(topic, value, key, partition)
            except BufferError:
                self.producer.poll(0.1)


def main():
    ended = threading.Event()

    def watch_input():
        sys.stdin.read()
        ended.set()

    threading.Thread(target=watch_input, daemon=True).start()
    ColdTier(json.loads(sys.argv[1])).run(ended)


main()
