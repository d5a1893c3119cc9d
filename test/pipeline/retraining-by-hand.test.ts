// People ask for things while a worker runs, over HTTP and by orders on the topic: they retrain, take back, carry
// models from one series to another. Whatever they bring, what serves goes on until something better may.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { readCommandLine } from "../../src/cli/models/options.ts";
import { runModels } from "../../src/cli/models/run-models.ts";
import { avroCodec } from "../../src/log/codec/avro.ts";
import { orderKey, outcomeKey } from "../../src/retrain/requests/model-keys.ts";
import { encodeOutcome } from "../../src/retrain/requests/outcome-codec.ts";
import { decodeRequest } from "../../src/retrain/requests/request-codec.ts";
import type { TrainedModel, TrainingTask } from "../../src/retrain/training-task.ts";
import type { Fleet } from "./support/fleet.ts";
import { eventsOf, feed, type Law, noisy, retrainingFleet, trainerWith, wave } from "./support/retraining.ts";
import { until } from "./support/turns.ts";

const law = noisy(wave(3, 8), 0.5, 1);
/** Nothing but people decides after the first model. */
const settled = { "series.driftRatio": 1000, "retrain.coverageBand": 1 };

/** A fleet whose first series have models that have passed their probation. */
class Story {
  readonly fleet: Fleet;
  readonly laws: Record<string, Law>;
  readonly folder: string;
  #hour = 0;

  private constructor(fleet: Fleet, laws: Readonly<Record<string, Law>>, folder: string) {
    this.fleet = fleet;
    this.laws = { ...laws };
    this.folder = folder;
  }

  static async open(
    t: TestContext,
    laws: Readonly<Record<string, Law>>,
    settings: Readonly<Record<string, unknown>> = {},
  ): Promise<Story> {
    const folder = mkdtempSync(join(tmpdir(), "by-hand-"));
    t.after(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "token"), "secret-7");
    const given = { ...settled, "worker.tokenFile": join(folder, "token"), ...settings };
    return new Story(await retrainingFleet(t, { settings: given }), laws, folder);
  }

  async feed(hours: number): Promise<void> {
    await feed(this.fleet, this.laws, this.#hour, this.#hour + hours);
    this.#hour += hours;
  }

  async post(path: string, body: Uint8Array | string = "", token = "secret-7") {
    const address = `http://127.0.0.1:${this.fleet.worker.port}/models/${path}`;
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(address, { method: "POST", headers, body });
    return { status: response.status, body: await response.text() };
  }

  /** Places an order that is taken, and waits for all that comes of it. Returns what was told. */
  async order(path: string, body: Uint8Array | string = ""): Promise<readonly string[]> {
    const modelKey = path.split("/")[0];
    const before = (await eventsOf(this.fleet, modelKey)).length;
    const answer = await this.post(path, body);
    assert.equal(answer.status, 202, answer.body);
    await this.fleet.worker.retrainer?.settled();
    await this.feed(2);
    const events = (await eventsOf(this.fleet, modelKey)).slice(before);
    return events.map(({ kind, fromVersion, toVersion }) => `${kind} ${fromVersion} → ${toVersion}`);
  }

  async export(modelKey: string): Promise<Uint8Array> {
    const response = await fetch(`http://127.0.0.1:${this.fleet.worker.port}/models/${modelKey}/export`);
    assert.equal(response.status, 200);
    return new Uint8Array(await response.arrayBuffer());
  }

  async version(seriesId: string): Promise<string | undefined> {
    const forecasts = await this.fleet.forecasts();
    return forecasts.filter((forecast) => forecast.seriesId === seriesId).at(-1)?.modelVersion;
  }

  async command(...argv: readonly string[]) {
    const read = readCommandLine(argv);
    assert.ok(typeof read !== "string", String(read));
    const told: string[] = [];
    const code = await runModels(read.options, {
      ...{ log: this.fleet.log, clock: { nowMs: () => 0 }, signal: new AbortController().signal },
      topics: { models: "forecastnet.models", state: "forecastnet.state", events: "forecastnet.events" },
      io: { out: (line) => told.push(line), err: (line) => told.push(line) },
    });
    return { code, told: told.join("\n") };
  }

  async lay(key: string, value: Buffer): Promise<void> {
    const place = { topic: "forecastnet.models", partition: 0 };
    await this.fleet.log.append([{ ...place, key: Buffer.from(key), value }]);
  }

  /** Resolves once the worker has said so about the series. */
  untilTold(modelKey: string, message: string, times = 1): Promise<void> {
    const count = () =>
      this.fleet.logged.filter((line) => line.message === message && line.facts.modelKey === modelKey).length;
    return until(() => count() >= times, `${message} of ${modelKey}`);
  }

  async metric(line: RegExp): Promise<void> {
    assert.match((await this.fleet.page("/metrics")).body, line);
  }
}

/** Bytes with one in the middle turned over. */
function damage(bytes: Uint8Array): Buffer {
  const damaged = Buffer.from(bytes);
  damaged[damaged.length >> 1] ^= 0xff;
  return damaged;
}

describe("over HTTP", () => {
  test("a series is retrained when somebody with the token asks for it", async (t) => {
    const story = await Story.open(t, { a: law });
    await story.feed(132);
    const version = await story.version("a");
    assert.equal((await story.post("a/retrain", "", "guess")).status, 401);
    assert.equal((await story.post("z/retrain")).status, 404);
    const before = (await eventsOf(story.fleet)).length;
    const [requested, verdict, ...more] = await story.order("a/retrain");
    assert.equal(requested, `REQUESTED ${version} → null`);
    assert.match(verdict, /^(PROMOTED|REFUSED) /);
    assert.deepEqual(more, []);
    const told = (await eventsOf(story.fleet)).slice(before);
    assert.deepEqual([told.length, told[0].reason], [2, "manual"]);
  });

  test("a model goes from one series to another and back: gate, no gate, predecessor, nothing", async (t) => {
    const story = await Story.open(t, { a: law, b: noisy(wave(6, 11), 0.5, 2) });
    await story.feed(132);
    const [a, b] = [await story.version("a"), await story.version("b")];
    const stranger = await story.export("b");
    // The gate finds that another's model is worse than its own.
    assert.deepEqual(await story.order("a/import", stranger), [`REFUSED ${a} → ${b}`]);
    assert.equal(await story.version("a"), a);
    assert.deepEqual(await story.order("a/import?gate=skip", stranger), [`PROMOTED ${a} → ${b}`]);
    assert.equal(await story.version("a"), b);
    assert.deepEqual(await story.order("a/rollback"), [`ROLLED_BACK ${b} → ${a}`]);
    assert.equal(await story.version("a"), a);
    await story.fleet.play("restart", "settle");
    assert.deepEqual(await story.order("a/rollback"), [`ROLLED_BACK ${a} → null`]);
    assert.match((await story.version("a")) ?? "", /^seasonal-naive/);
    assert.deepEqual(await story.order("a/rollback"), ["REFUSED null → null"]);
    assert.equal(await story.version("b"), b, "the other series was never asked");
  });

  test("a model that another series learnt serves a young one of its kind, through the gate", async (t) => {
    const story = await Story.open(t, { a: law });
    await story.feed(120);
    story.laws.c = (hour) => law(hour) + 0.01;
    await story.feed(60);
    assert.match((await story.version("c")) ?? "", /^seasonal-naive/);
    const a = await story.version("a");
    assert.deepEqual(await story.order("c/import", await story.export("a")), [`PROMOTED null → ${a}`]);
    assert.equal(await story.version("c"), a);
    const { modelKey } = (await story.fleet.forecasts()).at(-1) ?? {};
    assert.equal(modelKey, "c", "under its own name");
  });

  test("damaged bytes are refused at the door, and what serves goes on", async (t) => {
    const story = await Story.open(t, { a: law });
    await story.feed(102);
    const version = await story.version("a");
    const damaged = damage(await story.export("a"));
    const answer = await story.post("a/import?gate=skip", damaged);
    assert.equal(answer.status, 400);
    assert.match(answer.body, /checksum/);
    await story.feed(6);
    assert.equal(await story.version("a"), version);
  });
});

describe("by orders on the topic", () => {
  test("each command gets its answer although no input comes", async (t) => {
    const story = await Story.open(t, { a: law, b: noisy(wave(6, 11), 0.5, 2) });
    await story.feed(132);
    const [a, b] = [await story.version("a"), await story.version("b")];
    const file = join(story.folder, "b.model");
    assert.equal((await story.command("export", "b", `--out=${file}`)).code, 0);
    const refused = await story.command("import", file, "--key=a");
    assert.deepEqual([refused.code, refused.told.includes(`${a} → ${b}`)], [1, true], refused.told);
    const imported = await story.command("import", file, "--key=a", "--skip-gate");
    assert.equal(imported.code, 0, imported.told);
    const back = await story.command("rollback", "a");
    assert.deepEqual([back.code, back.told.includes(`${b} → ${a}`)], [0, true], back.told);
    const retrained = await story.command("retrain", "a");
    assert.match(retrained.told, /requested .*manual\n.*(promoted|refused)/s);
    await story.feed(2);
    const newest = new Map(
      (await story.fleet.read("forecastnet.models")).map(({ key, value }) => [String(key), value]),
    );
    assert.equal(newest.get(orderKey("a")), null, "no order is left");
  });

  test("an order that is damaged, or brings damage, is refused and counted; the old model serves", async (t) => {
    const story = await Story.open(t, { a: law });
    await story.feed(102);
    const version = await story.version("a");
    await story.lay(orderKey("a"), Buffer.from("scribble"));
    await story.untilTold("a", "record on the models topic cannot be read");
    await story.metric(/^forecastnet_model_messages_refused_total\{reason="unreadable"\} 1$/m);
    const record = damage(await story.export("a"));
    const order = { id: "o1", modelKey: "a", kind: "IMPORT", record, skipsGate: true, askedAt: 0 } as const;
    await story.lay(orderKey("a"), avroCodec("ModelOrder").encode(order));
    await story.untilTold("a", "model refused");
    await story.metric(/^forecastnet_model_decisions_total\{kind="refused"\} 1$/m);
    await story.feed(6);
    assert.equal((await eventsOf(story.fleet, "a")).at(-1)?.kind, "REFUSED");
    assert.equal(await story.version("a"), version);
  });
});

describe("an outcome of a trainer elsewhere", () => {
  /** Trains what was asked of trainers last. */
  async function answer(story: Story): Promise<{ task: TrainingTask; challengers: readonly TrainedModel[] }> {
    const requests = await story.fleet.read("forecastnet.training");
    const read = decodeRequest(requests.at(-1)?.value ?? null);
    assert.ok("task" in read);
    const trainer = await trainerWith()();
    const [result] = await trainer.train([read.task], new AbortController().signal);
    await trainer.close();
    assert.ok(result.outcome === "trained");
    return { task: read.task, challengers: result.challengers };
  }

  const outcomeOf = ({ task, challengers }: Awaited<ReturnType<typeof answer>>) =>
    encodeOutcome({
      ...{ requestId: task.id, modelKey: "a", endedAtMs: 0 },
      result: { outcome: "trained", challengers },
    });

  test("with a damaged challenger is told as failed, counted, and the old model serves", async (t) => {
    const story = await Story.open(t, { a: law }, { "retrain.where": "trainers" });
    await story.feed(84);
    await story.lay(outcomeKey("a"), outcomeOf(await answer(story)));
    await story.untilTold("a", "model promoted");
    await story.feed(60);
    const version = await story.version("a");
    assert.deepEqual(await story.order("a/retrain"), [`REQUESTED ${version} → null`]);
    const codec = avroCodec("TrainingOutcome");
    const outcome = codec.decode(outcomeOf(await answer(story)));
    const challengers = outcome.challengers.map(damage);
    await story.lay(outcomeKey("a"), codec.encode({ ...outcome, challengers }));
    await story.untilTold("a", "model failed");
    await story.feed(6);
    const { kind, reason, fromVersion } = (await eventsOf(story.fleet, "a")).at(-1) ?? {};
    assert.deepEqual([kind, fromVersion], ["FAILED", version]);
    assert.match(reason ?? "", /^no challenger is fit: /);
    await story.metric(/^forecastnet_model_messages_refused_total\{reason="unreadable"\} 1$/m);
    assert.equal(await story.version("a"), version);
    const { body } = await story.fleet.page("/models/a");
    assert.equal(JSON.parse(body).phase, "champion");
  });
});
