// Properties of the images, read from their Dockerfiles. Building and running them is tested by hand, because the tests
// cannot rely on base images.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { loadConfig } from "../../src/runtime/config/load.ts";
import { type Instruction, lastStage, readDockerfile, restOf } from "../rig/dockerfile.ts";
import { hadolint, needsHadolint } from "../rig/hadolint.ts";
import { projectRoot } from "../rig/project.ts";

const files = ["deploy/docker/Dockerfile", "deploy/docker/Dockerfile.gpu"] as const;
const { version } = JSON.parse(readFileSync(join(projectRoot, "package.json"), "utf8")) as {
  version: string;
};
const { port } = loadConfig({ argv: [], env: {} }).worker;
const ignoreLines = readFileSync(join(projectRoot, ".dockerignore"), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"));

/** The files copied from the repository rather than from another stage. */
function copiedFromContext(instructions: readonly Instruction[]): readonly string[] {
  return restOf(instructions, "COPY")
    .filter((rest) => !rest.startsWith("--from="))
    .flatMap((rest) => rest.split(/\s+/).slice(0, -1));
}

describe("the build context of the images", () => {
  test("contains only what the images need", () => {
    assert.equal(ignoreLines[0], "*");
    const opened = ignoreLines.slice(1).map((line) => line.replace(/^!/, ""));
    const needed = new Set(files.flatMap((file) => copiedFromContext(readDockerfile(file))));
    assert.deepEqual(opened.sort(), [...needed].sort());
    for (const path of opened) assert.ok(existsSync(join(projectRoot, path)), path);
  });
});

const linted = await needsHadolint();

for (const file of files) {
  describe(file, () => {
    const all = readDockerfile(file);
    const last = lastStage(all);

    test("passes hadolint", linted, async () => {
      assert.equal(await hadolint(join(projectRoot, file)), "");
    });

    test("has one base image, which can be pinned by a build argument", () => {
      assert.match(restOf(all, "ARG")[0] ?? "", /^NODE_IMAGE=node:\d+-\w+-slim$/);
      for (const base of restOf(all, "FROM")) assert.match(base, /^\$\{NODE_IMAGE\}( AS \w+)?$/);
    });

    test("runs as a user that is not root and owns no files", () => {
      assert.deepEqual(restOf(last, "USER"), ["1000:1000"]);
      assert.ok(!all.some(({ rest }) => rest.includes("--chown")));
    });

    test("starts node directly, with a replaceable command", () => {
      const entry = ["node", "--enable-source-maps", "/app/dist/src/cli/main.js"];
      assert.deepEqual(JSON.parse(restOf(last, "ENTRYPOINT")[0] ?? ""), entry);
      const command = ["worker", "--config", "/etc/forecastnet/forecastnet.yaml"];
      assert.deepEqual(JSON.parse(restOf(last, "CMD")[0] ?? ""), command);
      assert.ok(existsSync(join(projectRoot, "dist/src/cli/main.js")));
    });

    test("checks its health with node at the default port", () => {
      const [check = ""] = restOf(last, "HEALTHCHECK");
      assert.match(check, /CMD \["node", "-e", .*\/healthz/);
      assert.ok(check.includes(`FORECASTNET_WORKER_PORT || ${port})`));
      assert.deepEqual(restOf(last, "EXPOSE"), [String(port)]);
    });

    test("contains no secret and runs no command in its last stage", () => {
      const settings = [...restOf(all, "ARG"), ...restOf(all, "ENV")].join("\n");
      assert.doesNotMatch(settings, /passw|secret|token|credential/i);
      assert.ok(!all.some(({ word }) => word === "ADD"));
      assert.deepEqual(restOf(last, "RUN"), []);
    });

    test("has labels that describe it", () => {
      assert.ok(restOf(last, "ARG").includes(`VERSION=${version}`));
      const [labels = ""] = restOf(last, "LABEL");
      for (const name of ["title", "description", "licenses", "version", "revision", "source"]) {
        assert.ok(labels.includes(`org.opencontainers.image.${name}=`), name);
      }
    });

    test("contains a bill of materials of its installation", () => {
      const steps = restOf(all, "RUN").join("\n");
      assert.ok(steps.includes("node dist/scripts/write-sbom.js /out/sbom.spdx.json"));
      assert.ok(existsSync(join(projectRoot, "dist/scripts/write-sbom.js")));
    });
  });
}

test("the CPU image leaves out TensorFlow and development dependencies", () => {
  assert.ok(restOf(readDockerfile(files[0]), "RUN").includes("npm ci --omit=dev --omit=optional"));
});

test("the two images differ only in their contents", () => {
  const [cpu, gpu] = files.map((file) =>
    lastStage(readDockerfile(file))
      .filter(({ word }) => !["COPY", "ENV"].includes(word))
      .map(({ word, rest }) => `${word} ${rest.replace(/for any processor|for NVIDIA GPUs/, "")}`),
  );
  assert.deepEqual(cpu, gpu);
});
