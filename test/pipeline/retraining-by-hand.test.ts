// Operators change models while a worker runs, over HTTP and by orders on the topic: they retrain, roll back, and copy
// models between series. Whatever they send, the serving model stays until a better one passes.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { readCommandLine } from "../../src/cli/command.ts";
import { modelsCommand, runModels } from "../../src/cli/models/models.ts";
import { avroCodec } from "../../src/log/codec/avro.ts";
import { orderKey, outcomeKey } from "../../src/log/codec/model-keys.ts";
import { createFamilies, storedFamilies } from "../../src/models/families.ts";
import type { TrainedModel } from "../../src/models/family.ts";
import { createInProcessTrainer } from "../../src/training/in-process-trainer.ts";
import { encodeOutcome } from "../../src/training/outcome-codec.ts";
import { decodeRequest } from "../../src/training/request-codec.ts";
import type { TrainingTask } from "../../src/training/training-task.ts";
import type { Fleet } from "./support/fleet.ts";
import { eventsOf, feed, type Law, noisy, openEngine, retrainingFleet, wave } from "./support/retraining.ts";

const law = noisy(wave(3, 8), 0.5, 1);
/** After the first model only operators change anything. */
const settled = { "series.driftRatio": 1000, "retrain.coverageBand": 1 };

/** A fleet, its series, and the ways to reach them as an operator. */
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
    return new Story(retrainingFleet(t, { settings: given }), laws, folder);
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

  /** Places an order that is accepted, and waits for its consequences. Returns the events. */
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
    const headers = { authorization: "Bearer secret-7" };
    const address = `http://127.0.0.1:${this.fleet.worker.port}/models/${modelKey}/export`;
    const response = await fetch(address, { headers });
    assert.equal(response.status, 200);
    return new Uint8Array(await response.arrayBuffer());
  }

  async version(seriesId: string): Promise<string | undefined> {
    const forecasts = await this.fleet.forecasts();
    return forecasts.filter((forecast) => forecast.seriesId === seriesId).at(-1)?.modelVersion;
  }

  async command(...argv: readonly string[]) {
    const told: string[] = [];
    const running = runModels(readCommandLine(modelsCommand, argv), {
      ...{ log: this.fleet.log, clock: { nowMs: () => 0 }, signal: new AbortController().signal },
      topics: { models: "forecastnet.models", state: "forecastnet.state", events: "forecastnet.events" },
      io: { out: (line) => told.push(line), err: (line) => told.push(line) },
    });
    const code = await this.fleet.wait(running, `the command ${argv.join(" ")}`);
    return { code, told: told.join("\n") };
  }

  async putModelRecord(key: string, value: Buffer): Promise<void> {
    const place = { topic: "forecastnet.models", partition: 0 };
    await this.fleet.log.append([{ ...place, key: Buffer.from(key), value }]);
  }

  /** Resolves once the worker has logged this about the series. */
  untilTold(modelKey: string, message: string, times = 1): Promise<void> {
    const count = () =>
      this.fleet.logged.filter((line) => line.message === message && line.facts.modelKey === modelKey).length;
    return this.fleet.until(() => count() >= times, `${message} of ${modelKey}`);
  }

  async metric(line: RegExp): Promise<void> {
    assert.match((await this.fleet.page("/metrics")).body, line);
  }
}

/** A copy with the middle byte inverted. */
function damage(bytes: Uint8Array): Buffer {
  const damaged = Buffer.from(bytes);
  damaged[damaged.length >> 1] ^= 0xff;
  return damaged;
}

describe("over HTTP", () => {
  test("a series is retrained when a token bearer asks for it", async (t) => {
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

  test("a model imported from another series is refused by the gate, served without the gate, and rolled back", async (t) => {
    const story = await Story.open(t, { a: law, b: noisy(wave(6, 11), 0.5, 2) });
    await story.feed(132);
    const [a, b] = [await story.version("a"), await story.version("b")];
    const otherVersion = await story.export("b");
    // The gate finds that the other series' model is worse.
    assert.deepEqual(await story.order("a/import", otherVersion), [`REFUSED ${a} → ${b}`]);
    assert.equal(await story.version("a"), a);
    assert.deepEqual(await story.order("a/import?gate=skip", otherVersion), [`PROMOTED ${a} → ${b}`]);
    assert.equal(await story.version("a"), b);
    assert.deepEqual(await story.order("a/rollback"), [`ROLLED_BACK ${b} → ${a}`]);
    assert.equal(await story.version("a"), a);
    await story.fleet.play("restart", "settle");
    assert.deepEqual(await story.order("a/rollback"), [`ROLLED_BACK ${a} → null`]);
    assert.match((await story.version("a")) ?? "", /^seasonal-naive/);
    assert.deepEqual(await story.order("a/rollback"), ["REFUSED null → null"]);
    assert.equal(await story.version("b"), b, "the other series keeps its model");
  });

  test("a model of another series passes the gate for a similar young series, and serves it", async (t) => {
    const story = await Story.open(t, { a: law });
    await story.feed(120);
    story.laws.c = (hour) => law(hour) + 0.01;
    await story.feed(60);
    assert.match((await story.version("c")) ?? "", /^seasonal-naive/);
    const a = await story.version("a");
    assert.deepEqual(await story.order("c/import", await story.export("a")), [`PROMOTED null → ${a}`]);
    assert.equal(await story.version("c"), a);
    const { modelKey } = (await story.fleet.forecasts()).at(-1) ?? {};
    assert.equal(modelKey, "c", "the model serves under the key of its new series");
  });

  test("an import of damaged bytes is rejected, and the serving model stays", async (t) => {
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
  test("each command gets its answer even if no input arrives", async (t) => {
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

  test("an order that is damaged, or carries a damaged model, is refused and counted, and the old model serves", async (t) => {
    const story = await Story.open(t, { a: law });
    await story.feed(102);
    const version = await story.version("a");
    await story.putModelRecord(orderKey("a"), Buffer.from("scribble"));
    await story.untilTold("a", "record on the models topic cannot be read");
    await story.metric(/^forecastnet_model_messages_refused_total\{reason="unreadable"\} 1$/m);
    const record = damage(await story.export("a"));
    const order = { id: "o1", modelKey: "a", kind: "IMPORT", record, skipsGate: true, askedAt: 0 } as const;
    await story.putModelRecord(orderKey("a"), avroCodec("ModelOrder").encode(order));
    await story.untilTold("a", "model refused");
    await story.metric(/^forecastnet_model_decisions_total\{kind="refused"\} 1$/m);
    await story.feed(6);
    assert.equal((await eventsOf(story.fleet, "a")).at(-1)?.kind, "REFUSED");
    assert.equal(await story.version("a"), version);
  });
});

describe("an outcome from a separate trainer", () => {
  /** Trains the newest request on the training topic. */
  async function answer(story: Story): Promise<{ task: TrainingTask; challengers: readonly TrainedModel[] }> {
    const requests = await story.fleet.read("forecastnet.training");
    const read = decodeRequest(requests.at(-1)?.value ?? null);
    assert.ok("task" in read);
    const engine = await openEngine();
    const trainer = createInProcessTrainer(createFamilies(engine));
    const [result] = await trainer.train([read.task], new AbortController().signal);
    await engine.close();
    assert.ok(result.outcome === "trained");
    return { task: read.task, challengers: result.challengers };
  }

  const outcomeOf = ({ task, challengers }: Awaited<ReturnType<typeof answer>>) =>
    encodeOutcome(
      {
        ...{ requestId: task.id, modelKey: "a", endedAtMs: 0 },
        result: { outcome: "trained", challengers },
      },
      storedFamilies,
    );

  test("with a damaged challenger is reported as failed and counted, and the old model serves", async (t) => {
    const story = await Story.open(t, { a: law }, { "retrain.where": "trainers" });
    await story.feed(84);
    await story.putModelRecord(outcomeKey("a"), outcomeOf(await answer(story)));
    await story.untilTold("a", "model promoted");
    await story.feed(60);
    const version = await story.version("a");
    assert.deepEqual(await story.order("a/retrain"), [`REQUESTED ${version} → null`]);
    const codec = avroCodec("TrainingOutcome");
    const outcome = codec.decode(outcomeOf(await answer(story)));
    const challengers = outcome.challengers.map(damage);
    await story.putModelRecord(outcomeKey("a"), codec.encode({ ...outcome, challengers }));
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
