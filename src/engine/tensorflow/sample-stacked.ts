// Sample paths of many nets: tasks of one layout and as many paths run as stacks, whatever nets they name.

import type { PathOutputs, SampleTask } from "../executor.ts";
import type { LayoutCache } from "./layout-cache.ts";
import type { TensorFlow } from "./native-binding.ts";
import { type Feed, runNets } from "./net-ops.ts";
import type { PanelLayout } from "./panel-layout.ts";
import type { ResidentNets } from "./resident-nets.ts";
import { netsPerForecast } from "./stack-size.ts";
import { keepingNumbers } from "./tensor-scope.ts";
import type { Tensor3D } from "./tensor-types.ts";

export interface Sampler {
  readonly tf: TensorFlow;
  readonly layouts: LayoutCache;
  readonly residents: ResidentNets;
  /** What one stack may take while it runs, in bytes. */
  readonly limit: number;
}

/** Tasks that can run together, by their numbers. */
interface Group {
  readonly layout: PanelLayout;
  readonly paths: number;
  readonly members: number[];
}

export function sampleStacked(sampler: Sampler, tasks: readonly SampleTask[]): PathOutputs[] {
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
  asked: readonly SampleTask[],
): PathOutputs[] {
  const tasks = fillUp(asked, paths);
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
    return asked.map((_, i) => ({
      mean: means.slice(i * size, (i + 1) * size),
      deviation: deviations?.slice(i * size, (i + 1) * size) ?? null,
    }));
  });
}

/** Numbers that a vector register of any processor holds, at most. */
const widestVector = 16;

/**
 * Repeats the last task until there are two at least and their deviations fill whole vectors. On a processor
 * TensorFlow takes exponentials of what is left over beside whole vectors, and products of a stack of one, in ways
 * that round otherwise; so filled up, a forecast does not depend on what else is in its batch, to the bit.
 */
function fillUp(tasks: readonly SampleTask[], paths: number): readonly SampleTask[] {
  const isGaussian = tasks[0].noise !== null;
  let multiple = 2;
  while (isGaussian && (multiple * paths) % widestVector !== 0) multiple *= 2;
  const count = Math.ceil(tasks.length / multiple) * multiple;
  return Array.from({ length: count }, (_, i) => tasks[Math.min(i, tasks.length - 1)]);
}

/** Gaussian: path p of a step feeds μ + σ·z; linear outputs feed themselves. */
function feedPaths(tf: TensorFlow, { plan }: PanelLayout, tasks: readonly SampleTask[], paths: number): Feed {
  const tables = tasks.flatMap(({ noise }) => (noise === null ? [] : [noise.values]));
  if (tables.length === 0) return (_step, mean) => mean;
  // Nets as a rule share one table; then it is sent to the device once.
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
