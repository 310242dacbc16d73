// The contract tests of the store, which every engine must pass.

import { after, describe, it } from "node:test";
import { isLong } from "../seeds.ts";
import { runsOn } from "../short-run.ts";
import { aggregatesOfGroups } from "./contract/aggregates.ts";
import { atomicGroups } from "./contract/atomic-groups.ts";
import { changes } from "./contract/changes.ts";
import { closing } from "./contract/closing.ts";
import { collections } from "./contract/collections.ts";
import { concurrentWriters } from "./contract/concurrent-writers.ts";
import { drops } from "./contract/drops.ts";
import type { ContractTest, ReusedEngine } from "./contract/engine-under-test.ts";
import { feeds } from "./contract/feeds.ts";
import { freshness } from "./contract/freshness.ts";
import { idempotencyKeys } from "./contract/idempotency.ts";
import { indexes } from "./contract/indexes.ts";
import { listeners } from "./contract/listeners.ts";
import { operations } from "./contract/operations.ts";
import { owners } from "./contract/owners.ts";
import { queries } from "./contract/queries.ts";
import { randomSequences } from "./contract/random-sequences.ts";
import { references } from "./contract/references.ts";
import { resourceFiles } from "./contract/resource-files.ts";
import { scans } from "./contract/scans.ts";
import { searches } from "./contract/searches.ts";
import { slices } from "./contract/slices.ts";
import { sortOrders } from "./contract/sort-orders.ts";
import { tokens } from "./contract/tokens.ts";
import { uniqueFields } from "./contract/unique-fields.ts";

export { ReusedEngine, testMaxCounted } from "./contract/engine-under-test.ts";

type Start = () => Promise<ReusedEngine>;

/** Runs all contract tests on an engine. */
export function storeContract(name: string, start: Start): void {
  describe(name, () => {
    const contractTest = contractTestOn(start);
    describe("collections", () => collections(contractTest));
    describe("idempotency keys", () => idempotencyKeys(contractTest));
    describe("slices", () => slices(contractTest));
    describe("feeds", () => feeds(contractTest));
    describe("queries", () => queries(contractTest));
    describe("orders", () => sortOrders(contractTest));
    describe("indexes", () => indexes(contractTest));
    describe("scans", () => scans(contractTest));
    describe("aggregates", () => aggregatesOfGroups(contractTest));
    describe("searches", () => searches(contractTest));
    describe("unique fields", () => uniqueFields(contractTest));
    describe("references", () => references(contractTest));
    describe("owners", () => owners(contractTest));
    describe("files of resources", () => resourceFiles(contractTest));
    describe("drops", () => drops(contractTest));
    commitContract(contractTest);
  });
}

/**
 * Runs the contract tests on an engine whose commits go another way, such as through group commit: those
 * that depend on how changes travel, are ordered and become visible. `npm test` runs them on one runtime,
 * `npm run test:long` runs all on both.
 */
export function storeContractVariant(name: string, shortOn: "bun" | "node", start: Start): void {
  if (isLong) storeContract(name, start);
  else if (runsOn(shortOn)) describe(name, () => commitContract(contractTestOn(start)));
}

function commitContract(contractTest: ContractTest): void {
  describe("operations", () => operations(contractTest));
  describe("changes", () => changes(contractTest));
  describe("atomic groups", () => atomicGroups(contractTest));
  describe("tokens", () => tokens(contractTest));
  describe("reads are never stale", () => freshness(contractTest));
  describe("listeners", () => listeners(contractTest));
  describe("concurrent writers", () => concurrentWriters(contractTest));
  describe("random sequences", () => randomSequences(contractTest));
  describe("opening and closing", () => closing(contractTest));
}

/** The tests of one engine use the same stores, because opening them takes longer than most tests. */
function contractTestOn(start: Start): ContractTest {
  let started: ReusedEngine | undefined;
  const end = async () => {
    const engine = started;
    started = undefined;
    await engine?.destroy();
  };
  after(end);
  return (text, answer, { isNew = false } = {}) => {
    it(text, async () => {
      if (isNew) await end();
      started ??= await start();
      let isReusable = false;
      try {
        await answer(started);
        isReusable = await started.empty();
      } finally {
        if (!isReusable) await end();
      }
    });
  };
}
