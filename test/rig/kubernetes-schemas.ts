// What Kubernetes, KEDA and the Prometheus operator accept, as JSON Schemas on this machine: from a Python package and
// from the sources of two Go modules, fetched once and kept in the cache.

import { execFile, spawnSync } from "node:child_process";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { installPackages } from "./apt-packages.ts";
import { cachedFolder } from "./cache.ts";
import { crdSchemas } from "./crd-schema.ts";

/** The oldest Kubernetes that Chart.yaml allows, and the newest that the chart is made for. */
export const kubernetesVersions = ["1.25.0", "1.36.0"] as const;

const corePackage = "kubernetes-validate==1.37.0";
const crdModules = [
  { module: "github.com/kedacore/keda/v2@v2.21.0", folder: "config/crd/bases" },
  {
    module: "github.com/prometheus-operator/prometheus-operator@v0.85.0",
    folder: "example/prometheus-operator-crd",
  },
] as const;

const run = promisify(execFile);

/** Null when Python can fetch the schemas; otherwise what to install. */
export function missingPython(): string | null {
  if (!hasPip()) installPackages(["python3", "python3-pip"]);
  if (hasPip()) return null;
  return "the tests of the chart need Python 3 with pip for the schemas of Kubernetes: for example apt-get install python3-pip";
}

/** Where kubeconform finds the schemas: templates of paths. */
export async function schemaLocations(): Promise<readonly string[]> {
  const pins = [corePackage.split("==")[1], ...crdModules.map(({ module }) => module.split("@v")[1])].join(
    "-",
  );
  const folder = await cachedFolder(`kubernetes-schemas-${pins}`, fetchSchemas);
  return [
    join(folder, "{{ .NormalizedKubernetesVersion }}", "{{ .ResourceKind }}{{ .KindSuffix }}.json"),
    join(folder, "crds", "{{ .Group }}", "{{ .ResourceKind }}_{{ .ResourceAPIVersion }}.json"),
  ];
}

async function fetchSchemas(folder: string): Promise<void> {
  process.stderr.write(
    "Fetching the schemas of Kubernetes for the tests (23 MB and two Go modules, first time only).\n",
  );
  await fetchCore(folder);
  for (const { module, folder: within } of crdModules) {
    const { stdout } = await run("go", ["mod", "download", "-json", module]);
    const { Dir } = JSON.parse(stdout) as { Dir: string };
    await writeCrds(join(Dir, within), join(folder, "crds"));
  }
}

async function fetchCore(folder: string): Promise<void> {
  const wheels = join(folder, "wheels");
  const options = ["--quiet", "--no-deps", "--only-binary=:all:", "--dest", wheels];
  await run("python3", ["-m", "pip", "download", ...options, corePackage]);
  const [wheel = ""] = await readdir(wheels);
  await run("python3", ["-m", "zipfile", "-e", join(wheels, wheel), wheels]);
  for (const version of kubernetesVersions) {
    const source = join(wheels, "kubernetes_validate/kubernetes-json-schema", `v${version}-local-strict`);
    const target = join(folder, `v${version}`);
    await mkdir(target);
    for (const name of await readdir(source)) {
      await writeFile(join(target, name), relocate(await readFile(join(source, name), "utf8")));
    }
  }
  await rm(wheels, { recursive: true });
}

/** The package's schemas refer to one another by a path of its own. */
function relocate(schema: string): string {
  const { $id: _, ...rest } = JSON.parse(schema) as Record<string, unknown>;
  return JSON.stringify(rest).replaceAll('"/api/_definitions.json#', '"_definitions.json#');
}

async function writeCrds(source: string, target: string): Promise<void> {
  const names = (await readdir(source)).filter((name) => name.endsWith(".yaml"));
  for (const name of names) {
    for (const [file, schema] of crdSchemas(await readFile(join(source, name), "utf8"))) {
      await mkdir(dirname(join(target, file)), { recursive: true });
      await writeFile(join(target, file), schema);
    }
  }
}

function hasPip(): boolean {
  return spawnSync("python3", ["-m", "pip", "--version"], { stdio: "ignore" }).status === 0;
}
