// The one place that loads TensorFlow.js. Takes its native binding where `npm run setup:tensorflow` has put one,
// and the plain JavaScript backend everywhere else, so that a machine without the native part lacks only its
// speed. Says which of the two it took, on which device, and why.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type * as tfjs from "@tensorflow/tfjs";

export type TensorFlow = typeof tfjs;

/** What the setup put in place; unknown when something else did. */
export type NativeVariant = "cpu" | "gpu" | "unknown";

export interface NativeBinding {
  readonly present: boolean;
  /** One sentence; when nothing is present it says what to do. */
  readonly reason: string;
  /** Of the npm package; null when it is not installed. */
  readonly packageFolder: string | null;
  /** Where the package looks for its compiled part; null when it is not installed. */
  readonly path: string | null;
  /** Only a "gpu" binding can find a GPU, so that "cpu" answers the question without a load. Null when absent. */
  readonly variant: NativeVariant | null;
}

export interface LoadedTensorFlow {
  readonly tf: TensorFlow;
  readonly backend: "native" | "plain";
  readonly device: "gpu" | "cpu";
  /** Of what computes: "libtensorflow 2.15.1" or "tfjs 4.22.0". */
  readonly version: string;
  /** Why this backend, in one sentence. */
  readonly reason: string;
}

export interface LoadOptions {
  /** "plain" takes the JavaScript backend even where the native one is set up. */
  readonly backend?: "auto" | "plain";
  /** The module, as path or URL, that the native package is resolved from. */
  readonly from?: string;
}

const packageName = "@tensorflow/tfjs-node-gpu";
const plainPackageName = "@tensorflow/tfjs";

/** Both packages are optional dependencies, which the CPU image leaves out. */
const howToInstall = "run `npm ci` without --omit=optional, or use the GPU image";

/** Inside the package. The folder is named for version 8 of Node-API, the newest that the package knows. */
export const bindingFile = join("lib", "napi-v8", "tfjs_binding.node");

/** Written by the setup beside the binding: says what was put there. */
export const manifestFile = join("lib", "forecastnet.json");

/** Looks, and loads nothing: requiring the package where its compiled part is absent throws. */
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
    // Absent when something else than our setup put the binding there. Nothing depends on it but a shortcut.
    return "unknown";
  }
}

/**
 * Loads TensorFlow.js and makes the backend it names the current one. TensorFlow.js has one current backend per
 * thread: after a second call with another answer, what the first call returned computes on the new one too.
 */
export async function loadTensorFlow(options: LoadOptions = {}): Promise<LoadedTensorFlow> {
  if (options.backend === "plain") return loadPlain("the plain backend was asked for");
  const from = options.from ?? import.meta.url;
  const binding = findNativeBinding(from);
  if (!binding.present) return loadPlain(binding.reason);
  try {
    return await loadNative(from, binding.reason);
  } catch (error) {
    // Libraries of another machine, a half-removed setup: slower, but the worker works.
    const why = error instanceof Error ? error.message : String(error);
    return loadPlain(
      `the native binding at ${binding.path} did not load: ${why.trim()}; ` +
        "`npm run setup:tensorflow -- --check` tells more",
    );
  }
}

/** What tfjs-node's backend has beyond the common interface. */
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
  // Otherwise its first operation in Node prints an advertisement for the native package.
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

/** tfjs-node 4.22 calls two functions of `util` that Node 22 warns of and Node 23 removed; these do the same. */
function restoreRemovedFunctions(): void {
  const util = createRequire(import.meta.url)("node:util") as Record<string, unknown>;
  util.isArray = Array.isArray;
  util.isNullOrUndefined = (value: unknown) => value === null || value === undefined;
}
