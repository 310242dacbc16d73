// The contract tests of the store, which every engine must pass.

import { after, describe, it } from "node:test";
import { isLong } from "../seeds.ts";
import { isShort, runsOn } from "../short-run.ts";
import { aggregatesOfGroups } from "./contract/aggregates.ts";
import { atomicGroups } from "./contract/atomic-groups.ts";
import { changes } from "./contract/changes.ts";
import { closing } from "./contract/closing.ts";
import { collections } from "./contract/collections.ts";
import { concurrentWriters } from "./contract/concurrent-writers.ts";
import { drops } from "./contract/drops.ts";
import type { ContractTest, ReusedEngine } from "./contract/engine-under-test.ts";
import { erasures } from "./contract/erasures.ts";
import { feeds } from "./contract/feeds.ts";
import { fileQuotas } from "./contract/file-quotas.ts";
import { formerStates } from "./contract/former-states.ts";
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
import { unchangedCollections } from "./contract/unchanged.ts";
import { uniqueFields } from "./contract/unique-fields.ts";

export { ReusedEngine, testFileQuotas, testMaxCounted } from "./contract/engine-under-test.ts";

type Start = () => Promise<ReusedEngine>;

type Suite = readonly [title: string, suite: (contractTest: ContractTest) => void];

/** What depends on how changes travel, are ordered and become visible. */
const commitSuites: readonly Suite[] = [
  ["operations", operations],
  ["changes", changes],
  ["atomic groups", atomicGroups],
  ["unchanged collections", unchangedCollections],
  ["tokens", tokens],
  ["reads are never stale", freshness],
  ["listeners", listeners],
  ["erasures", erasures],
  ["quotas of files", fileQuotas],
  ["concurrent writers", concurrentWriters],
  ["random sequences", randomSequences],
  ["opening and closing", closing],
];

const suites: readonly Suite[] = [
  ["collections", collections],
  ["idempotency keys", idempotencyKeys],
  ["slices", slices],
  ["feeds", feeds],
  ["former states", formerStates],
  ["queries", queries],
  ["orders", sortOrders],
  ["indexes", indexes],
  ["scans", scans],
  ["aggregates", aggregatesOfGroups],
  ["searches", searches],
  ["unique fields", uniqueFields],
  ["references", references],
  ["owners", owners],
  ["files of resources", resourceFiles],
  ["drops", drops],
  ...commitSuites,
];

/** What shows that a driver works: values, commits, lists, searches, files, and the end. `npm test` runs these on Node. */
const driverSuites = [
  "operations",
  "slices",
  "searches",
  "files of resources",
  "opening and closing",
];

/** How others see changes: `npm test` runs these on other ways to commit. */
const orderSuites = [
  "changes",
  "atomic groups",
  "reads are never stale",
  "listeners",
  "concurrent writers",
];

/** Runs all contract tests on an engine. `npm test` runs those of the driver on Node, and all on Bun. */
export function storeContract(name: string, start: Start): void {
  const here = runsOn("bun") ? suites : suites.filter(([title]) => driverSuites.includes(title));
  describe(name, () => runSuites(here, contractTestOn(start)));
}

/**
 * Runs the contract tests on an engine whose commits go another way, such as through group commit: those
 * that depend on how changes travel, are ordered and become visible. `npm test` runs them on one runtime,
 * `npm run test:long` runs all on both.
 */
export function storeContractVariant(name: string, shortOn: "bun" | "node", start: Start): void {
  const here = isShort
    ? commitSuites.filter(([title]) => orderSuites.includes(title))
    : commitSuites;
  if (isLong) storeContract(name, start);
  else if (runsOn(shortOn)) describe(name, () => runSuites(here, contractTestOn(start)));
}

function runSuites(some: readonly Suite[], contractTest: ContractTest): void {
  for (const [title, suite] of some) describe(title, () => suite(contractTest));
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
