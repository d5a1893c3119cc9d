// Kafka clients that share no code with the product: librdkafka, in small Python programs. Fetched once as a wheel
// with the machine's own pip and kept in the cache; otherwise the reason for a loud skip.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { SetupError } from "../../scripts/tensorflow/machine.ts";
import { cachedFolder, isCached } from "./cache.ts";
import { isCi } from "./ci.ts";
import { fetchWheel, missingPip, pythonVersion } from "./pip.ts";
import { projectRoot } from "./project.ts";

const version = "2.16.0";

/** Options of a test that needs the clients; in CI, where no test may be skipped, it rejects instead. */
export async function needsLibrdkafka(): Promise<{ readonly skip: string | false }> {
  const missing = await missingLibrdkafka();
  if (missing !== null && isCi) throw new Error(missing);
  return { skip: missing ?? false };
}

/** Null when they are in place, after putting them there if need be; otherwise why not and what to do. */
export async function missingLibrdkafka(): Promise<string | null> {
  try {
    return isCached(cacheName()) ? null : await fetchClient();
  } catch (error) {
    if (error instanceof SetupError) return `librdkafka could not be fetched: ${error.message}`;
    throw error;
  }
}

/** A wheel fits one version of Python. */
function cacheName(): string {
  return `confluent-kafka-${version}-py${pythonVersion()}`;
}

async function fetchClient(): Promise<string | null> {
  const lack = missingPip("librdkafka");
  if (lack === null) await clientFolder();
  return lack;
}

export function clientFolder(): Promise<string> {
  return cachedFolder(cacheName(), (folder) => fetchWheel(`confluent-kafka==${version}`, folder));
}

/** A program under test/rig/librdkafka/. It takes its task as JSON, tells one JSON object a line, and ends by itself
 * when its standard input closes, which also happens when this process is gone. */
export class LibrdkafkaProgram {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  #complaints = "";
  #hasEnded = false;

  private constructor(name: string, child: ChildProcess, onLine: (line: unknown) => void) {
    this.#name = name;
    this.#child = child;
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    lines.on("line", (line) => onLine(JSON.parse(line)));
    child.stderr?.on("data", (text) => {
      this.#complaints = (this.#complaints + text).slice(-10_000);
    });
    this.#ended = Promise.all([once(child, "exit"), once(lines, "close")]).then(([[code]]) => {
      this.#hasEnded = true;
      return code;
    });
  }

  static async start(
    name: "producer" | "subscriber",
    task: object,
    onLine: (line: unknown) => void,
  ): Promise<LibrdkafkaProgram> {
    const program = join(projectRoot, "test", "rig", "librdkafka", `${name}.py`);
    const child = spawn("python3", [program, JSON.stringify(task)], {
      env: { ...process.env, PYTHONPATH: await clientFolder(), PYTHONUNBUFFERED: "1" },
      stdio: ["pipe", "pipe", "pipe"],
    });
    return new LibrdkafkaProgram(name, child, onLine);
  }

  /** What it said on standard error, such as brokers it cannot reach. */
  get complaints(): string {
    return this.#complaints;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Asks it to finish its work; resolves when it has. */
  async finish(): Promise<void> {
    this.#child.stdin?.end();
    const code = await this.#ended;
    if (code !== 0)
      throw new Error(`the ${this.#name} of librdkafka ended with ${code}:\n${this.#complaints}`);
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }
}
