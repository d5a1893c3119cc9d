// Builds the commands with which the chart is tested from the Go module beside this file: its go.mod keeps their
// versions, its go.sum their checksums. Built once and kept in the cache.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runTool } from "../../scripts/tensorflow/machine.ts";
import { installPackages } from "./apt-packages.ts";
import { cachedFolder } from "./cache.ts";
import { projectRoot } from "./project.ts";

const commands = [
  "helm.sh/helm/v3/cmd/helm",
  "github.com/yannh/kubeconform/cmd/kubeconform",
  "github.com/helm-unittest/helm-unittest/cmd/helm-unittest",
] as const;

/** From here on Go fetches by itself the newer Go that a module asks for. */
const oldestGo = 21;
const moduleFolder = join(projectRoot, "test/rig/go-tools");

/** The Kubernetes that Helm takes for granted where nobody names another; as released, it is the newest it knows. */
export const newestKubernetes = "1.36";

/** Null when Go can build the commands; otherwise what to install. */
export function missingGo(): string | null {
  if (findGo() !== null) installPackages(["golang-go"]);
  return findGo();
}

/** The folder of the commands, which are built if they are not there yet. */
export function goTools(): Promise<string> {
  const pins = ["go.mod", "go.sum"].map((name) => readFileSync(join(moduleFolder, name)));
  const hash = createHash("sha256").update(Buffer.concat(pins)).update(linkerFlags()).digest("hex");
  return cachedFolder(`go-tools-${hash.slice(0, 12)}`, build);
}

async function build(folder: string): Promise<void> {
  process.stderr.write(
    "Building helm, kubeconform and helm-unittest for the tests (4 minutes, first time only).\n",
  );
  const flags = ["-C", moduleFolder, "-mod=readonly", "-trimpath", "-buildvcs=false"];
  const args = ["build", ...flags, `-ldflags=${linkerFlags()}`, "-o", folder, ...commands];
  await runTool("env", ["CGO_ENABLED=0", "go", ...args], "check that Go can reach its module proxy");
}

/** Helm's own release build sets these, too. */
function linkerFlags(): string {
  const [major, minor] = newestKubernetes.split(".");
  const variables = ["chartutil", "lint/rules"].flatMap((name) => [
    `helm.sh/helm/v3/pkg/${name}.k8sVersionMajor=${major}`,
    `helm.sh/helm/v3/pkg/${name}.k8sVersionMinor=${minor}`,
  ]);
  return ["-s", "-w", ...variables.flatMap((variable) => ["-X", variable])].join(" ");
}

function findGo(): string | null {
  const { status, stdout } = spawnSync("go", ["env", "GOVERSION"], { encoding: "utf8" });
  const minor = status === 0 ? Number(/^go1\.(\d+)/.exec(stdout)?.[1]) : null;
  if (minor !== null && minor >= oldestGo) return null;
  const found = minor === null ? "" : ` (found ${stdout.trim()})`;
  return `the tests of the chart need Go 1.${oldestGo} or newer${found} to build helm, kubeconform and helm-unittest: install it`;
}
