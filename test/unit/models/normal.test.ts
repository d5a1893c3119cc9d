import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { normalQuantile, normalTail, studentQuantile } from "../../../src/models/normal.ts";

function assertNear(actual: number, expected: number, relative: number): void {
  assert.ok(
    Math.abs(actual - expected) <= relative * Math.abs(expected),
    `${actual} is not near ${expected}`,
  );
}

describe("quantile functions", () => {
  test("the normal quantile agrees with tables in the middle and in the tail", () => {
    assertNear(normalQuantile(0.975), 1.959963984540054, 1e-8);
    assertNear(normalQuantile(0.9), 1.2815515655446004, 1e-8);
    assertNear(normalQuantile(0.001), -3.090232306167813, 1e-8);
    assert.equal(normalQuantile(0.5), 0);
    assertNear(normalQuantile(0.2), -normalQuantile(0.8), 1e-12);
  });

  test("the normal tail agrees with tables, and is the inverse of the quantile", () => {
    assertNear(normalTail(0), 0.5, 1e-12);
    assertNear(normalTail(1), 0.15865525393145705, 1e-12);
    assertNear(normalTail(1.959963984540054), 0.025, 1e-12);
    assertNear(normalTail(3), 0.0013498980316300933, 1e-12);
    assertNear(normalTail(8), 6.220960574271785e-16, 1e-9);
    for (const level of [0.6, 0.9, 0.97, 0.98, 0.999])
      assertNear(normalTail(normalQuantile(level)), 1 - level, 1e-6);
  });

  test("Student's quantile agrees with tables", () => {
    for (const [level, freedom, expected] of [
      [0.975, 1, 12.7062],
      [0.975, 2, 4.30265],
      [0.975, 3, 3.18245],
      [0.99, 3, 4.5407],
      [0.9, 4, 1.53321],
      [0.975, 5, 2.57058],
      [0.995, 10, 3.16927],
      [0.95, 30, 1.69726],
    ]) {
      assertNear(studentQuantile(level, freedom), expected, 0.01);
      assertNear(studentQuantile(1 - level, freedom), -expected, 0.01);
    }
  });

  test("Student's quantile rises with the level for every number of degrees", () => {
    for (let freedom = 1; freedom <= 60; freedom++) {
      let before = Number.NEGATIVE_INFINITY;
      for (let level = 0.001; level < 1; level += 0.001) {
        const value = studentQuantile(level, freedom);
        assert.ok(value > before, `level ${level} at ${freedom} degrees`);
        before = value;
      }
    }
  });
});
