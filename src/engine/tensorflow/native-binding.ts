// Loads TensorFlow.js; no other file does. Uses the native binding if `npm run setup:tensorflow` has installed one, and
// otherwise the plain JavaScript backend, so that a machine without the binding is only slower. Reports which backend
// it loaded, on which device, and why.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type * as tfjs from "@tensorflow/tfjs";

export type TensorFlow = typeof tfjs;

/** What the setup installed; unknown if something else installed the binding. */
type NativeVariant = "cpu" | "gpu" | "unknown";

export interface NativeBinding {
  readonly present: boolean;
  /** One sentence. If the binding is absent, it says what to do. */
  readonly reason: string;
  /** Folder of the npm package; null if it is not installed. */
  readonly packageFolder: string | null;
  /** Where the package expects its compiled part; null if it is not installed. */
  readonly path: string | null;
  /** A "cpu" binding finds no GPU; callers need not load it to find out. Null if absent. */
  readonly variant: NativeVariant | null;
}

export interface LoadedTensorFlow {
  readonly tf: TensorFlow;
  readonly backend: "native" | "plain";
  readonly device: "gpu" | "cpu";
  /** Version of the library that computes: "libtensorflow 2.15.1" or "tfjs 4.22.0". */
  readonly version: string;
  /** The reason for this backend, in one sentence. */
  readonly reason: string;
}

export interface LoadOptions {
  /** "plain" uses the JavaScript backend even if the native one is set up. */
  readonly backend?: "auto" | "plain";
  /** Path or URL of the module to resolve the native package from. */
  readonly from?: string;
}

const packageName = "@tensorflow/tfjs-node-gpu";
const plainPackageName = "@tensorflow/tfjs";

/** Both packages are optional dependencies; the CPU image omits them. */
const howToInstall = "run `npm ci` without --omit=optional, or use the GPU image";

/** Path inside the package. The folder is named after Node-API version 8, the newest that the package supports. */
export const bindingFile = join("lib", "napi-v8", "tfjs_binding.node");

/** Path inside the package. The setup writes here what it installed. */
export const manifestFile = join("lib", "forecastnet.json");

/** Loads nothing: requiring the package throws if its compiled part is absent. */
export function findNativeBinding(from: string = import.meta.url): NativeBinding {
  const packageFolder = folderOfPackage(from);
  if (packageFolder === null) {
    const reason = `the package ${packageName} is not installed: ${howToInstall}`;
    return { present: false, reason, packageFolder, path: null, variant: null };
  }
  const path = join(packageFolder, bindingFile);
  if (!existsSync(path)) {
    const reason = "the native binding is not set up: run `npm run setup:tensorflow -- cpu` (or gpu)";
    return { present: false, reason, packageFolder, path, variant: null };
  }
  const variant = readVariant(join(packageFolder, manifestFile));
  return { present: true, reason: "the native binding is set up", packageFolder, path, variant };
}

function folderOfPackage(from: string): string | null {
  try {
    return dirname(createRequire(from).resolve(`${packageName}/package.json`));
  } catch (error) {
    if (isNotInstalled(error)) return null;
    throw error;
  }
}

function isNotInstalled(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND";
}

function readVariant(manifest: string): NativeVariant {
  try {
    const { variant } = JSON.parse(readFileSync(manifest, "utf8")) as { variant?: unknown };
    return variant === "cpu" || variant === "gpu" ? variant : "unknown";
  } catch {
    // Absent if something other than our setup installed the binding. Then only loading it tells the device.
    return "unknown";
  }
}

/**
 * Loads TensorFlow.js and makes the reported backend current. TensorFlow.js has one current backend per thread: after a
 * second call with another backend, the result of the first call computes on the new one, too.
 */
export async function loadTensorFlow(options: LoadOptions = {}): Promise<LoadedTensorFlow> {
  if (options.backend === "plain") return loadPlain("the plain backend was requested");
  const from = options.from ?? import.meta.url;
  const binding = findNativeBinding(from);
  if (!binding.present) return loadPlain(binding.reason);
  try {
    return await loadNative(from, binding.reason);
  } catch (error) {
    // Libraries of another machine, a partly removed setup: the worker runs, but slower.
    const why = error instanceof Error ? error.message : String(error);
    return loadPlain(
      `the native binding at ${binding.path} did not load: ${why.trim()}; ` +
        "`npm run setup:tensorflow -- --check` has the details",
    );
  }
}

/** Fields of tfjs-node's backend that the common interface lacks. */
interface NativeBackend {
  readonly isUsingGpuDevice: boolean;
  readonly binding: { readonly TF_Version: string };
}

async function loadNative(from: string, reason: string): Promise<LoadedTensorFlow> {
  restoreRemovedFunctions();
  const tf = createRequire(from)(packageName) as TensorFlow;
  await useBackend(tf, "tensorflow");
  const { isUsingGpuDevice, binding } = tf.backend() as unknown as NativeBackend;
  return {
    tf,
    backend: "native",
    device: isUsingGpuDevice ? "gpu" : "cpu",
    version: `libtensorflow ${binding.TF_Version}`,
    reason,
  };
}

async function loadPlain(reason: string): Promise<LoadedTensorFlow> {
  const tf = requirePlain();
  // Without this, the first operation in Node prints an advertisement for the native package.
  tf.env().set("PROD", true);
  await useBackend(tf, "cpu");
  return { tf, backend: "plain", device: "cpu", version: `tfjs ${tf.version.tfjs}`, reason };
}

function requirePlain(): TensorFlow {
  const require = createRequire(import.meta.url);
  try {
    require.resolve(plainPackageName);
  } catch (error) {
    if (!isNotInstalled(error)) throw error;
    throw new Error(`TensorFlow.js is not installed: ${howToInstall}; or set engine.kind to simd`);
  }
  return require(plainPackageName) as TensorFlow;
}

async function useBackend(tf: TensorFlow, name: string): Promise<void> {
  if (!(await tf.setBackend(name))) throw new Error(`TensorFlow.js could not start its backend "${name}"`);
}

/** tfjs-node 4.22 calls two functions of `util` that Node 22 deprecated and Node 23 removed. */
function restoreRemovedFunctions(): void {
  const util = createRequire(import.meta.url)("node:util") as Record<string, unknown>;
  util.isArray = Array.isArray;
  util.isNullOrUndefined = (value: unknown) => value === null || value === undefined;
}
