// ForecastNet on TensorFlow. Nets of one shape run stacked, as batched products, and stay on the device between
// forecasts. The executor owns every tensor it creates: `close` frees all of them.

import type { NetExecutor, PathOutputs, SampleTask } from "../executor.ts";
import type { LoadedTensorFlow, TensorFlow } from "./native-binding.ts";
import { runNets, type TensorFeed } from "./net-ops.ts";
import { LayoutCache, type PanelLayout, toPanel } from "./panel-layout.ts";
import { netsPerForecast, type StackLimits, stackLimits } from "./stack-size.ts";
import { StackedSession } from "./stacked-session.ts";
import { keepingNumbers, type Tensor2D, type Tensor3D } from "./tensors.ts";

export interface TensorFlowOptions {
  /** Memory for the weights that stay on the device. */
  readonly budgetBytes: number;
  /** By default those of the device. */
  readonly limits?: StackLimits;
}

export interface TensorFlowExecutor extends NetExecutor {
  /** What is on the device now. */
  resident(): { readonly models: number; readonly bytes: number };
  /** Frees weights that will not be requested again. */
  release(weights: Float32Array): void;
}

export function createTensorFlowExecutor(
  { tf, device }: LoadedTensorFlow,
  { budgetBytes, limits = stackLimits[device] }: TensorFlowOptions,
): TensorFlowExecutor {
  const layouts = new LayoutCache();
  const residents = new ResidentNets(tf, budgetBytes);
  const sessions = new Set<StackedSession>();
  return {
    sample(tasks) {
      return sampleStacked({ tf, layouts, residents, limit: limits.forecast }, tasks);
    },
    train(plan, tasks) {
      const onClose = () => sessions.delete(session);
      const { loss } = plan.spec;
      const setup = { tf, layout: layouts.of(plan), loss, limit: limits.training, onClose };
      const session = new StackedSession(setup, tasks);
      sessions.add(session);
      return session;
    },
    resident: () => ({ models: residents.count, bytes: residents.bytes }),
    release: (weights) => residents.release(weights),
    close() {
      for (const session of sessions) session.close();
      residents.close();
    },
  };
}

interface Sampler {
  readonly tf: TensorFlow;
  readonly layouts: LayoutCache;
  readonly residents: ResidentNets;
  /** Memory of one stack while it runs, in bytes. */
  readonly limit: number;
}

/** Indices of tasks that can run in one stack: of one layout, and with equally many paths. */
interface Group {
  readonly layout: PanelLayout;
  readonly paths: number;
  readonly members: number[];
}

function sampleStacked(sampler: Sampler, tasks: readonly SampleTask[]): PathOutputs[] {
  const outputs = new Array<PathOutputs>(tasks.length);
  for (const { layout, paths, members } of groupTasks(sampler.layouts, tasks)) {
    const size = Math.min(
      netsPerForecast(layout.plan, paths, sampler.limit),
      sampler.residents.roomFor(layout),
    );
    for (let start = 0; start < members.length; start += size) {
      const chosen = members.slice(start, start + size);
      const results = sampleStack(
        sampler,
        layout,
        paths,
        chosen.map((member) => tasks[member]),
      );
      for (const [i, member] of chosen.entries()) outputs[member] = results[i];
    }
  }
  return outputs;
}

function groupTasks(layouts: LayoutCache, tasks: readonly SampleTask[]): Group[] {
  const groupsByLayout = new Map<PanelLayout, Group[]>();
  for (const [member, { net, noise }] of tasks.entries()) {
    const layout = layouts.of(net.plan);
    const paths = noise?.paths ?? 1;
    const groups = groupsByLayout.get(layout) ?? [];
    groupsByLayout.set(layout, groups);
    const group = groups.find((candidate) => candidate.paths === paths);
    if (group === undefined) groups.push({ layout, paths, members: [member] });
    else group.members.push(member);
  }
  return [...groupsByLayout.values()].flat();
}

function sampleStack(
  { tf, residents }: Sampler,
  layout: PanelLayout,
  paths: number,
  requested: readonly SampleTask[],
): PathOutputs[] {
  const tasks = padTasks(requested, paths);
  const panelsByNet = residents.acquire(
    layout,
    tasks.map(({ net }) => net.weights),
  );
  return keepingNumbers(tf, () => {
    const stacked = layout.panels.map(
      (_, panel) => tf.stack(panelsByNet.map((panels) => panels[panel])) as Tensor3D,
    );
    const window = tf.tensor3d(joined(tasks.map((task) => task.window)), [
      tasks.length,
      layout.plan.windowSize,
      1,
    ]);
    const feed = feedPaths(tf, layout, tasks, paths);
    const { mean, deviation } = runNets(tf, layout, stacked, { window, lanes: paths, feed });
    const means = mean.dataSync<"float32">();
    const deviations = deviation?.dataSync<"float32">();
    const size = layout.plan.cells.length * layout.plan.targets * paths;
    return requested.map((_, i) => ({
      mean: means.slice(i * size, (i + 1) * size),
      deviation: deviations?.slice(i * size, (i + 1) * size) ?? null,
    }));
  });
}

/** Numbers that the widest vector register of any CPU holds. */
const widestVector = 16;

/**
 * Repeats the last task until there are at least two tasks and their deviations fill whole vectors. On a CPU,
 * TensorFlow rounds differently in exponentials outside whole vectors, and in products of a stack of one. With the
 * padding, a forecast has the same bits whatever else is in its batch.
 */
function padTasks(tasks: readonly SampleTask[], paths: number): readonly SampleTask[] {
  const isGaussian = tasks[0].noise !== null;
  let multiple = 2;
  while (isGaussian && (multiple * paths) % widestVector !== 0) multiple *= 2;
  const count = Math.ceil(tasks.length / multiple) * multiple;
  return Array.from({ length: count }, (_, i) => tasks[Math.min(i, tasks.length - 1)]);
}

/** Gaussian: path p of a step feeds μ + σ·z; linear outputs feed themselves. */
function feedPaths(
  tf: TensorFlow,
  { plan }: PanelLayout,
  tasks: readonly SampleTask[],
  paths: number,
): TensorFeed {
  const tables = tasks.flatMap(({ noise }) => (noise === null ? [] : [noise.values]));
  if (tables.length === 0) return (_step, mean) => mean;
  // Nets usually share one table, which is then sent to the device once.
  const isShared = tables.every((table) => table === tables[0]);
  const chosen = isShared ? [tables[0]] : tables;
  const noise = tf.tensor4d(joined(chosen), [chosen.length, plan.cells.length, plan.targets, paths]);
  const byStep = tf.unstack(noise, 1) as Tensor3D[];
  return (step, mean, deviation) =>
    deviation === null ? mean : tf.add(mean, tf.mul(deviation, byStep[step]));
}

function joined(parts: readonly Float32Array[]): Float32Array {
  const size = parts[0].length;
  const all = new Float32Array(parts.length * size);
  for (const [i, part] of parts.entries()) all.set(part, i * size);
  return all;
}

interface Resident {
  readonly layout: PanelLayout;
  /** [rows, columns] each, in the order of the layout. */
  readonly panels: readonly Tensor2D[];
  readonly bytes: number;
}

/**
 * The nets on the device, keyed by their array of weights. When the budget is used up, the least recently used net is
 * evicted; it is uploaded again when it is requested.
 */
class ResidentNets {
  readonly #tf: TensorFlow;
  readonly #budgetBytes: number;
  /** Least recently used first: a map keeps the order of insertion. */
  readonly #residentByWeights = new Map<Float32Array, Resident>();
  #bytes = 0;

  constructor(tf: TensorFlow, budgetBytes: number) {
    this.#tf = tf;
    this.#budgetBytes = budgetBytes;
  }

  get count(): number {
    return this.#residentByWeights.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** How many nets of one layout the budget allows; at least one. */
  roomFor({ plan }: PanelLayout): number {
    return Math.max(1, Math.floor(this.#budgetBytes / (plan.weightCount * 4)));
  }

  /**
   * The panels of each net, uploaded if they are not on the device. At most `roomFor` nets; their panels are valid
   * until the next call, which may evict them.
   */
  acquire(layout: PanelLayout, nets: readonly Float32Array[]): (readonly Tensor2D[])[] {
    // Touches resident nets first, so that no net of this call evicts another.
    for (const weights of nets) this.#touch(weights, layout);
    return nets.map((weights) => (this.#touch(weights, layout) ?? this.#upload(layout, weights)).panels);
  }

  release(weights: Float32Array): void {
    const resident = this.#residentByWeights.get(weights);
    if (resident === undefined) return;
    this.#residentByWeights.delete(weights);
    this.#bytes -= resident.bytes;
    for (const panel of resident.panels) panel.dispose();
  }

  close(): void {
    for (const weights of this.#residentByWeights.keys()) this.release(weights);
  }

  /** Marks a net as used, if it is resident in this layout. */
  #touch(weights: Float32Array, layout: PanelLayout): Resident | null {
    const resident = this.#residentByWeights.get(weights);
    if (resident === undefined) return null;
    if (resident.layout !== layout) {
      this.release(weights);
      return null;
    }
    this.#residentByWeights.delete(weights);
    this.#residentByWeights.set(weights, resident);
    return resident;
  }

  #upload(layout: PanelLayout, weights: Float32Array): Resident {
    const bytes = weights.byteLength;
    for (const oldest of this.#residentByWeights.keys()) {
      if (this.#bytes + bytes <= this.#budgetBytes) break;
      this.release(oldest);
    }
    const panels = layout.panels.map((panel) =>
      this.#tf.keep(this.#tf.tensor2d(toPanel(panel, [weights]), [panel.rows, panel.columns])),
    );
    const resident = { layout, panels, bytes };
    this.#residentByWeights.set(weights, resident);
    this.#bytes += bytes;
    return resident;
  }
}
