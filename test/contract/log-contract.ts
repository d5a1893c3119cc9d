// The suite that every log passes: what the pipeline may rely on.
import { describe } from "node:test";
import { contractTests, type LogUnderTest } from "./contract-bench.ts";
import { commitContract } from "./parts/commit-contract.ts";
import { groupContract } from "./parts/group-contract.ts";
import { readContract } from "./parts/read-contract.ts";
import { restoreContract } from "./parts/restore-contract.ts";
import { stopContract } from "./parts/stop-contract.ts";
import { tailContract } from "./parts/tail-contract.ts";
import { topicContract } from "./parts/topic-contract.ts";

export type { LogUnderTest } from "./contract-bench.ts";

export function logContract(name: string, open: () => Promise<LogUnderTest>): void {
  const contractTest = contractTests(open);
  describe(`the ${name} log`, () => {
    describe("as a set of topics", () => topicContract(contractTest));
    describe("as a group", () => groupContract(contractTest));
    describe("as a transaction", () => commitContract(contractTest));
    describe("as a table", () => restoreContract(contractTest));
    describe("as a table that is followed", () => tailContract(contractTest));
    describe("as a topic to read once", () => readContract(contractTest));
    describe("when a member stops", () => stopContract(contractTest));
  });
}
