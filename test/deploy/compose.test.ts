// deploy/compose.yaml is consistent: its mounts exist, its commands are ours and have a valid configuration, and no port is
// open to the network.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { parse } from "yaml";
import { readCommandLine } from "../../src/cli/command.ts";
import { sensorsCommand } from "../../src/cli/sensors.ts";
import { loadConfig } from "../../src/runtime/config/load.ts";
import { projectRoot } from "../rig/project.ts";

interface Service {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly healthcheck?: object;
  readonly restart?: string;
  readonly stop_grace_period?: string;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const deploy = join(projectRoot, "deploy");
const compose = parse(readFileSync(join(deploy, "compose.yaml"), "utf8"), { merge: true }) as Compose;
const services = Object.entries(compose.services);
const ours = services.filter(([, { build }]) => build !== undefined);
const configFile = join(deploy, "compose/forecastnet.yaml");
const config = loadConfig({ argv: [`--config=${configFile}`], env: {} });

describe("the compose file", () => {
  test("has a service for every part", () => {
    const names = ["kafka", "topics", "worker", "trainer", "sensors", "prometheus", "grafana"];
    assert.deepEqual(Object.keys(compose.services), names);
  });

  test("mounts existing files, read-only", () => {
    for (const [name, { volumes = [] }] of services) {
      for (const volume of volumes) {
        const [source = "", , mode] = volume.split(":");
        if (source in compose.volumes) continue;
        assert.ok(existsSync(join(deploy, source)), `${name} mounts ${source}`);
        assert.equal(mode, "ro", `${name} mounts ${source}`);
      }
    }
  });

  test("pins the images that it does not build", () => {
    for (const [name, { image, build }] of services) {
      if (build === undefined) assert.match(image, /:v?\d+\.\d+\.\d+$/, name);
      else assert.ok(existsSync(join(deploy, build.context, build.dockerfile)), name);
    }
  });

  test("opens ports to this machine only", () => {
    for (const [name, { ports = [] }] of services) {
      for (const port of ports) assert.match(port, /^127\.0\.0\.1:/, name);
    }
  });

  test("gives only Kafka a writable file system and capabilities", () => {
    for (const [name, service] of services) {
      if (name === "kafka") continue;
      assert.deepEqual([service.read_only, service.cap_drop], [true, ["ALL"]], name);
    }
  });

  test("waits for healthy services and finished jobs", () => {
    const conditions = services.flatMap(([, { depends_on = {} }]) => Object.entries(depends_on));
    for (const [name, { condition }] of conditions) {
      const expected = name === "topics" ? "service_completed_successfully" : "service_healthy";
      assert.equal(condition, expected, name);
    }
    for (const name of ["kafka", "prometheus", "grafana"]) {
      assert.ok(compose.services[name]?.healthcheck !== undefined, name);
    }
  });

  test("runs existing commands", () => {
    const main = join(projectRoot, "dist/src/cli/main.js");
    const { stdout } = spawnSync(process.execPath, [main, "--help"], { encoding: "utf8" });
    for (const [name, { command = [] }] of ours) {
      assert.match(stdout, new RegExp(`^ +${command[0]} `, "m"), name);
      assert.ok(command.join(" ").includes("/etc/forecastnet/forecastnet.yaml"), name);
    }
  });

  test("gives the sensors valid flags and enough history for models", () => {
    const { values } = readCommandLine(sensorsCommand, compose.services.sensors?.command?.slice(1) ?? []);
    assert.ok(values.history >= config.retrain.minHistory);
  });

  test("gives workers and trainers time to settle before it kills them", () => {
    for (const name of ["worker", "trainer"]) {
      const seconds = Number.parseInt(compose.services[name]?.stop_grace_period ?? "", 10);
      assert.ok(1000 * seconds > config.worker.graceMs, name);
    }
  });

  test("sends trainings to the trainers", () => {
    assert.equal(config.retrain.where, "trainers");
  });
});
