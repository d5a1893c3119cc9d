// The rival from the Python world: python_consumer.py. Its packages are fetched once with the machine's own pip and cached.

import { join } from "node:path";
import { SetupError } from "../../scripts/tensorflow/machine.ts";
import { cachedFolder, isCached } from "../../test/rig/cache.ts";
import { fetchWheels, missingPip, pythonVersion } from "../../test/rig/pip.ts";
import { projectRoot } from "../../test/rig/project.ts";
import { guardedFolder } from "../../test/rig/service.ts";
import type { RivalCommand } from "../rig/rival-process.ts";
import type { WorkerNames } from "../rig/worker-process.ts";

const packages = ["confluent-kafka==2.16.0", "fastavro==1.13.1", "numpy==2.4.6"];

/** Null when the packages are in place, after putting them there if need be; otherwise why not and what to do. */
export async function missingPackages(): Promise<string | null> {
  if (isCached(cacheName())) return null;
  const lack = missingPip("the Python consumer");
  if (lack !== null) return lack;
  try {
    await packageFolder();
    return null;
  } catch (error) {
    if (error instanceof SetupError) return `its packages could not be fetched: ${error.message}`;
    throw error;
  }
}

/** Observations in a transaction, at most. */
const batch = 2_000;

/** `numpy`: whether the forecasts of a batch are computed at once, or each by itself as in a plain loop over messages. */
export async function pythonCommand(
  bootstrap: string,
  names: WorkerNames,
  numpy: "batch" | "single",
): Promise<RivalCommand> {
  const { group, input, forecasts, state } = names;
  const schemas = join(projectRoot, "schemas");
  const task = { bootstrap, group, input, forecasts, state, schemas, batch, numpy };
  return {
    folder: guardedFolder("python"),
    program: "python3",
    args: [join(projectRoot, "bench", "rivals", "python_consumer.py"), JSON.stringify(task)],
    env: { PYTHONPATH: await packageFolder(), OMP_NUM_THREADS: "1", OPENBLAS_NUM_THREADS: "1" },
  };
}

/** A wheel fits one version of Python. */
function cacheName(): string {
  return `python-consumer-${packages.join("-").replaceAll("==", "-")}-py${pythonVersion()}`;
}

function packageFolder(): Promise<string> {
  return cachedFolder(cacheName(), (folder) => fetchWheels(packages, folder));
}
