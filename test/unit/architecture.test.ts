// The architecture as tests: every rule holds for the tree, and every rule is shown to catch what it forbids.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
  globalsHaveOneDoor,
  importsPointDown,
  noCycles,
  packagesHaveOneDoor,
  type Rule,
} from "../rig/direction-rules.ts";
import {
  filesAreNamedForOneThing,
  filesAreShort,
  filesBeginWithTheirDuty,
  noBarrels,
  noDefaultExports,
} from "../rig/form-rules.ts";
import { importsOf, type SourceFile } from "../rig/imports.ts";
import { filesBelow, projectRoot } from "../rig/project.ts";

function readSources(folder: string): SourceFile[] {
  return filesBelow(folder)
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".generated.ts"))
    .map((path) => ({ path, text: readFileSync(join(projectRoot, path), "utf8") }));
}

const product = readSources("src");
const everything = [...product, ...["test", "bench", "scripts"].flatMap(readSources)];

function assertHolds(rule: Rule, files: readonly SourceFile[]): void {
  const problems = rule(files);
  if (problems.length > 0) assert.fail(`\n${problems.join("\n")}`);
}

describe("in src", () => {
  test("imports point down the layers", () => assertHolds(importsPointDown, product));
  test("every package has one door", () => assertHolds(packagesHaveOneDoor, product));
  test("environment, clock and exit have one door", () => assertHolds(globalsHaveOneDoor, product));
  test("there is no import cycle", () => assertHolds(noCycles, product));
  test("every file begins with its duty", () => assertHolds(filesBeginWithTheirDuty, product));
});

describe("in all our files", () => {
  test("none is longer than 400 lines", () => assertHolds(filesAreShort, everything));
  test("names tell one thing", () => assertHolds(filesAreNamedForOneThing, everything));
  test("exports have names", () => assertHolds(noDefaultExports, everything));
  test("none only passes on exports", () => assertHolds(noBarrels, everything));
});

/** Small files by path; what a rule says of them must match, one pattern a problem. */
function assertFinds(
  rule: Rule,
  textByPath: Readonly<Record<string, string>>,
  expected: readonly RegExp[],
): void {
  const files = Object.entries(textByPath).map(([path, text]) => ({ path, text }));
  const problems = rule(files);
  assert.equal(problems.length, expected.length, `found: ${problems.join("\n")}`);
  for (const [index, pattern] of expected.entries()) assert.match(problems[index] as string, pattern);
}

describe("the check itself", () => {
  test("reads every form of import, and no comment or string that looks like one", () => {
    const text = [
      `// import { a } from "./comment.ts";`,
      `import { a } from "./a.ts"; /* import "./block.ts" */`,
      `import type {`,
      `  B,`,
      `} from "../b.ts";`,
      `export { c } from "./c.ts";`,
      `export * from "./d.ts";`,
      `import "./e.ts";`,
      `const url = "http://x"; const f = await import("./f.ts");`,
      `import { readFileSync } from "node:fs";`,
      `export const from = "nowhere";`,
    ].join("\n");
    const found = importsOf({ path: "src/log/x.ts", text });
    assert.deepEqual(
      found.map(({ target, specifier, line }) => [target ?? specifier, line]),
      [
        ["src/log/a.ts", 2],
        ["src/b.ts", 3],
        ["src/log/c.ts", 6],
        ["src/log/d.ts", 7],
        ["src/log/e.ts", 8],
        ["src/log/f.ts", 9],
        ["node:fs", 10],
      ],
    );
  });

  const wrongWays: readonly (readonly [string, string, RegExp])[] = [
    ["src/log/a.ts", "../window/grid.ts", /^src\/log\/a\.ts:1: log imports window, which is not below it/],
    ["src/window/a.ts", "../sink/b.ts", /stage window imports stage sink/],
    ["src/lifecycle/a.ts", "../window/b.ts", /lifecycle imports the stage window/],
    ["src/domain.ts", "./runtime/clock.ts", /domain imports runtime/],
    ["src/models/a.ts", "../log/b.ts", /models imports log/],
    ["src/engine/a.ts", "../log/b.ts", /engine imports log/],
    ["src/pipeline.ts", "./service/worker.ts", /pipeline imports service/],
    ["src/service/worker.ts", "../cli/main.ts", /service imports cli/],
    ["src/cli/a.ts", "../../test/rig/b.ts", /not part of the product/],
    ["src/extras/a.ts", "../domain.ts", /^src\/extras\/a\.ts:1: "extras" is in no layer/],
  ];
  for (const [path, specifier, expected] of wrongWays) {
    test(`refuses ${path} importing ${specifier}`, () => {
      assertFinds(importsPointDown, { [path]: `import type { X } from "${specifier}";` }, [expected]);
    });
  }

  test("lets a stage use the log below it", () => {
    assertFinds(importsPointDown, { "src/window/a.ts": `import type { X } from "../log/codec/b.ts";` }, []);
  });

  test("refuses a package outside its door, and one that has none", () => {
    const text = `import { Kafka } from "kafkajs";\nimport { x } from "left-pad/sub";`;
    assertFinds(packagesHaveOneDoor, { "src/sink/a.ts": text }, [
      /^src\/sink\/a\.ts:1: kafkajs is imported only in src\/log\//,
      /^src\/sink\/a\.ts:2: left-pad has no door/,
    ]);
    assertFinds(packagesHaveOneDoor, { "src/log/a.ts": `import { Kafka } from "kafkajs";` }, []);
  });

  test("refuses environment, clock and exit outside their doors", () => {
    const uses = ["process.env.HOME", "Date.now()", "new Date()", "performance.now()", "process.exit(1)"];
    for (const use of uses) {
      assertFinds(globalsHaveOneDoor, { "src/log/a.ts": `\nconst x = ${use};` }, [
        /^src\/log\/a\.ts:2: .* belongs to/,
      ]);
    }
    const free = "const a = new Date(0); process.exitCode = 1; // Date.now()";
    assertFinds(globalsHaveOneDoor, { "src/log/a.ts": free }, []);
    assertFinds(
      globalsHaveOneDoor,
      { "src/runtime/clock.ts": "Date.now()", "src/cli/a.ts": "process.exit(1)" },
      [],
    );
    assertFinds(globalsHaveOneDoor, { "src/cli/a.ts": `import { env } from "node:process";` }, [
      /global process/,
    ]);
  });

  test("finds a cycle, of types too, and names its way round", () => {
    const cycle = {
      "src/log/a.ts": `import { b } from "./b.ts";`,
      "src/log/b.ts": `import { c } from "./c.ts";`,
      "src/log/c.ts": `import type { B } from "./b.ts";`,
    };
    assertFinds(noCycles, cycle, [/src\/log\/b\.ts → src\/log\/c\.ts → src\/log\/b\.ts/]);
  });

  test("finds long files, empty names, default exports, barrels and missing duties", () => {
    assertFinds(filesAreShort, { "src/a.ts": "x\n".repeat(401), "src/b.ts": "x\n".repeat(400) }, [
      /401 lines/,
    ]);
    const names = {
      "src/log/kafka-utils.ts": "",
      "src/common/a.ts": "",
      "src/Log.ts": "",
      "src/log/log.ts": "",
    };
    assertFinds(filesAreNamedForOneThing, names, [/"utils"/, /"common"/, /kebab-case/]);
    assertFinds(noDefaultExports, { "src/a.ts": "\nexport default 1;" }, [/^src\/a\.ts:2/]);
    const barrels = {
      "src/a.ts": `// All.\nexport * from "./x.ts";\nexport { y } from "./y.ts";`,
      "src/b.ts": `import { x } from "./x.ts";\nexport { x };`,
      "src/c.ts": `export { x } from "./x.ts";\nexport const y = 1;`,
    };
    assertFinds(noBarrels, barrels, [/^src\/a\.ts/, /^src\/b\.ts/]);
    const duties = { "src/a.ts": "export const a = 1;", "src/b.ts": "// B.\nexport const b = 1;" };
    assertFinds(filesBeginWithTheirDuty, duties, [/^src\/a\.ts/]);
  });
});
