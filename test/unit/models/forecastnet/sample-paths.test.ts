import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { pathNoise } from "../../../../src/models/forecastnet/sample-paths.ts";
import { normalQuantile } from "../../../../src/models/normal.ts";
import { createRandom } from "../../../../src/runtime/random.ts";

function columnsOf(values: Float32Array, paths: number): Float32Array[] {
  return Array.from({ length: values.length / paths }, (_, d) => values.subarray(d * paths, (d + 1) * paths));
}

/** Root mean square distance between draws and the normal scores of their ranks. */
function distanceToNormal(draws: Float32Array): number {
  const sorted = Float32Array.from(draws).sort();
  const squares = sorted.reduce((sum, z, i) => sum + (z - normalQuantile((i + 0.5) / sorted.length)) ** 2, 0);
  return Math.sqrt(squares / sorted.length);
}

/** Root mean square of the correlations between different columns. */
function rmsCorrelation(columns: readonly Float32Array[]): number {
  let squares = 0;
  let pairs = 0;
  for (let a = 0; a < columns.length; a++) {
    for (let b = 0; b < a; b++) {
      const [x, y] = [columns[a], columns[b]];
      let [xy, xx, yy] = [0, 0, 0];
      for (let i = 0; i < x.length; i++) {
        xy += x[i] * y[i];
        xx += x[i] * x[i];
        yy += y[i] * y[i];
      }
      squares += (xy * xy) / (xx * yy);
      pairs++;
    }
  }
  return Math.sqrt(squares / pairs);
}

for (const paths of [2, 7, 32, 100, 128, 300]) {
  test(`each step of ${paths} paths has mean 0, variance 1 and draws that are spread like the normal distribution`, () => {
    const columns = columnsOf(pathNoise(12, 2, paths, 0).values, paths);
    assert.equal(columns.length, 24);
    for (const column of columns) {
      const mean = column.reduce((sum, z) => sum + z, 0) / paths;
      const variance = column.reduce((sum, z) => sum + z * z, 0) / paths;
      assert.ok(Math.abs(mean) < 1e-6, `mean ${mean}`);
      assert.ok(Math.abs(variance - 1) < 1e-5, `variance ${variance}`);
      const distance = distanceToNormal(column);
      assert.ok(distance < 0.35, `distance ${distance}`);
    }
  });
}

test("sums over the last steps of 32 paths are spread like the normal distribution, however fast they forget", () => {
  const paths = 32;
  const columns = columnsOf(pathNoise(24, 1, paths, 0).values, paths);
  const plain = createRandom(3);
  for (const decay of [0.5, 0.8, 0.9, 1]) {
    const [sums, ofPlain] = [new Float32Array(paths), new Float32Array(paths)];
    let squares = 0;
    let total = 0;
    let totalOfPlain = 0;
    for (const column of columns) {
      squares = 1 + decay * decay * squares;
      for (let p = 0; p < paths; p++) {
        sums[p] = decay * sums[p] + column[p];
        ofPlain[p] = decay * ofPlain[p] + plain.normal();
      }
      total += distanceToNormal(sums.map((sum) => sum / Math.sqrt(squares)));
      totalOfPlain += distanceToNormal(ofPlain.map((sum) => sum / Math.sqrt(squares)));
    }
    assert.ok(total < 0.5 * totalOfPlain, `decay ${decay}: ${total} against ${totalOfPlain}`);
  }
});

test("a single path has no noise at all", () => {
  assert.deepEqual([...pathNoise(3, 1, 1, 0).values], [0, 0, 0]);
});

test("steps are far less correlated than plain random draws would be", () => {
  const random = createRandom(1);
  const plain = Array.from({ length: 24 }, () => Float32Array.from({ length: 100 }, () => random.normal()));
  const found = rmsCorrelation(columnsOf(pathNoise(24, 1, 100, 0).values, 100));
  assert.ok(rmsCorrelation(plain) > 0.08);
  assert.ok(found < 0.03, `${found}`);
});

test("a random walk along the paths spreads as it should", () => {
  const paths = 100;
  const columns = columnsOf(pathNoise(24, 1, paths, 3).values, paths);
  const position = new Float64Array(paths);
  columns.forEach((column, h) => {
    column.forEach((z, p) => {
      position[p] += z;
    });
    const variance = position.reduce((sum, x) => sum + x * x, 0) / paths;
    assert.ok(Math.abs(variance / (h + 1) - 1) < 0.05, `step ${h}: ${variance}`);
  });
});

test("more steps than paths still make a table", () => {
  const columns = columnsOf(pathNoise(60, 3, 16, 0).values, 16);
  assert.ok(rmsCorrelation(columns) < 0.4);
  assert.equal(new Set(columns.map((column) => column.join())).size, columns.length);
});

test("streams differ, calls do not", () => {
  const { values } = pathNoise(6, 1, 20, 0);
  assert.notDeepEqual(pathNoise(6, 1, 20, 1).values, values);
  // Enough other shapes to push the first one out of the cache.
  for (let paths = 1; paths <= 300; paths++) pathNoise(2, 1, paths, 9);
  const again = pathNoise(6, 1, 20, 0).values;
  assert.notEqual(again, values);
  assert.deepEqual(again, values);
});

test("the table is the same on every machine and in every release", () => {
  const { values } = pathNoise(24, 1, 100, 0);
  const found = createHash("sha256").update(Buffer.from(values.buffer)).digest("hex").slice(0, 16);
  assert.equal(found, "df299fc7fc012ce7");
});
