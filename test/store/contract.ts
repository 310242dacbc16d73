// The contract tests of the store, which every engine must pass.

import { describe, it } from "node:test";
import { isLong } from "../seeds.ts";
import { atomicGroups } from "./contract/atomic-groups.ts";
import { changes } from "./contract/changes.ts";
import { closing } from "./contract/closing.ts";
import { collections } from "./contract/collections.ts";
import { concurrentWriters } from "./contract/concurrent-writers.ts";
import { drops } from "./contract/drops.ts";
import type { ContractTest, EngineUnderTest } from "./contract/engine-under-test.ts";
import { feeds } from "./contract/feeds.ts";
import { freshness } from "./contract/freshness.ts";
import { idempotencyKeys } from "./contract/idempotency.ts";
import { indexes } from "./contract/indexes.ts";
import { listeners } from "./contract/listeners.ts";
import { owners } from "./contract/owners.ts";
import { queries } from "./contract/queries.ts";
import { randomSequences } from "./contract/random-sequences.ts";
import { resourceFiles } from "./contract/resource-files.ts";
import { searches } from "./contract/searches.ts";
import { slices } from "./contract/slices.ts";
import { sortOrders } from "./contract/sort-orders.ts";
import { tokens } from "./contract/tokens.ts";
import { uniqueFields } from "./contract/unique-fields.ts";

export {
  type EngineUnderTest,
  engineUnderTest,
  testMaxCandidates,
} from "./contract/engine-under-test.ts";

/** Runs all contract tests on an engine. */
export function storeContract(name: string, open: () => Promise<EngineUnderTest>): void {
  const contractTest = contractTestOn(open);
  describe(`${name}: collections`, () => collections(contractTest));
  describe(`${name}: idempotency keys`, () => idempotencyKeys(contractTest));
  describe(`${name}: slices`, () => slices(contractTest));
  describe(`${name}: feeds`, () => feeds(contractTest));
  describe(`${name}: queries`, () => queries(contractTest));
  describe(`${name}: orders`, () => sortOrders(contractTest));
  describe(`${name}: indexes`, () => indexes(contractTest));
  describe(`${name}: searches`, () => searches(contractTest));
  describe(`${name}: unique fields`, () => uniqueFields(contractTest));
  describe(`${name}: owners`, () => owners(contractTest));
  describe(`${name}: files of resources`, () => resourceFiles(contractTest));
  describe(`${name}: drops`, () => drops(contractTest));
  commitContract(name, open);
}

/**
 * Runs the contract tests on an engine whose commits go another way, such as through group commit: those
 * that depend on how changes travel, are ordered and become visible. `npm run test:long` runs all.
 */
export function storeContractVariant(name: string, open: () => Promise<EngineUnderTest>): void {
  if (isLong) storeContract(name, open);
  else commitContract(name, open);
}

function commitContract(name: string, open: () => Promise<EngineUnderTest>): void {
  const contractTest = contractTestOn(open);
  describe(`${name}: changes`, () => changes(contractTest));
  describe(`${name}: atomic groups`, () => atomicGroups(contractTest));
  describe(`${name}: tokens`, () => tokens(contractTest));
  describe(`${name}: reads are never stale`, () => freshness(contractTest));
  describe(`${name}: listeners`, () => listeners(contractTest));
  describe(`${name}: concurrent writers`, () => concurrentWriters(contractTest));
  describe(`${name}: random sequences`, () => randomSequences(contractTest));
  describe(`${name}: opening and closing`, () => closing(contractTest));
}

function contractTestOn(open: () => Promise<EngineUnderTest>): ContractTest {
  return (text, answer) => {
    it(text, async () => {
      const engine = await open();
      try {
        await answer(engine);
      } finally {
        await engine.destroy();
      }
    });
  };
}
