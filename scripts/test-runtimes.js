// Chooses the runtimes of a test file: both, unless what it tests does not depend on the runtime.

import { isNamed } from "./test-groups.js";

/** These read texts of the project or start programs of Node, in every run. */
const ofTheProject = ["/tidy.test", "/docs.test", "/scripts.test", "/test-runner.test"];

/**
 * `npm test` runs these on Bun: pure code, the inside of the engines, rules that the domain decides, what
 * parameters and schemas mean, commands and nodes that share data, and documents and pages that no runtime
 * changes. `main.test` and `workers.test` start processes on both, and so do the files about bodies,
 * streams, connections and header fields.
 */
const onBun = [
  "/definitions.test",
  "/domain/",
  "/types.test",
  "/http/access.test",
  "/http/auth.test",
  "/http/batch.test",
  "/http/caching.test",
  "/http/client-generated.test",
  "/http/clocks.test",
  "/http/collections.test",
  "/http/conditional-get.test",
  "/http/cors.test",
  "/http/delete.test",
  "/http/errors.test",
  "/http/feed.test",
  "/http/file-types.test",
  "/http/get-list.test",
  "/http/get-one.test",
  "/http/hosts.test",
  "/http/hot-pages.test",
  "/http/idempotency-key.test",
  "/http/openapi.test",
  "/http/openapi-requests.test",
  "/http/patch.test",
  "/http/preconditions.test",
  "/http/prefer.test",
  "/http/proxies.test",
  "/http/put.test",
  "/http/query-method.test",
  "/http/rate-limits.test",
  "/http/route.test",
  "/http/token-buckets.test",
  "/http/two-servers.test",
  "/model/",
  "/store/core/",
  "/store/index-builds.test",
  "/store/postgres/",
  "/store/sqlite/",
  "/examples.test",
  "/folder-owner.test",
  "/nodes.test",
  "/console-examples.test",
  "/http/browser.test",
  "/http/conditions.test",
  "/http/cursor.test",
  "/http/filters.test",
  "/http/index-builds.test",
  "/http/misspelled-parameters.test",
  "/http/openapi-collections.test",
  "/http/openapi-many-collections.test",
  "/http/pages.test",
  "/http/search-params.test",
  "/http/search.test",
  "/http/sort.test",
  "/http/unusual-names.test",
  "/http/validation.test",
  "/http/access-document.test",
  "/http/aggregates.test",
  "/http/etag-member.test",
  "/http/expand.test",
  "/http/forms.test",
  "/http/hidden-ids.test",
  "/http/indexed-lists.test",
  "/http/multipart-fuzz.test",
  "/http/multipart-json.test",
  "/http/owner-etags.test",
  "/http/owners.test",
  "/http/random-conditions.test",
  "/http/references.test",
  "/http/related-conditions.test",
  "/http/rights.test",
  "/http/roles.test",
  "/http/upsert.test",
];

/** `npm test` runs these on Node, among them the contract of Postgres and half of the upgrades of old data. */
const onNode = [
  "/generators/",
  "/http/content-digest.test",
  "/http/prepared-responses.test",
  "/test/actions.test",
  "/two-processes.test",
  "/store/postgres.test",
  "/store/remote-committer.test",
  "/growth.test",
  "/store/postgres/upgrade.test",
  "/store/sqlite/migrate-old.test",
  "/store/sqlite/search.test",
  "/store/sqlite/statements.test",
];

/** These depend on regular expressions, JSON, encodings, calendars, drivers or system calls of the runtime. */
const onBoth = [
  "/model/json.test",
  "/model/like.test",
  "/model/number.test",
  "/model/redos.test",
  "/model/time-buckets.test",
  "/model/utf8.test",
  "/model/validator.test",
  "/store/postgres/connection.test",
  "/store/postgres/failures.test",
  "/store/sqlite/crash.test",
  "/store/sqlite/failures.test",
  "/store/sqlite/open.test",
];

/** Returns those of the chosen runtimes that a file runs on. `isShort` is a run of all files by `npm test`. */
export function runtimesOf(file, chosen, isShort) {
  if (chosen.length === 1) return chosen;
  if (isNamed(file, ofTheProject)) return ["bun"];
  if (!isShort || isNamed(file, onBoth)) return chosen;
  if (isNamed(file, onNode)) return ["node"];
  return isNamed(file, onBun) ? ["bun"] : chosen;
}

/** Says what a short run leaves to `npm run test:long`, next to the full counts of random tests. */
export function leftOut(files, sources) {
  const both = ["node", "bun"];
  const without = (runtime) =>
    files
      .filter((file) => !isNamed(file, ofTheProject))
      .filter((file) => !runtimesOf(file, both, true).includes(runtime)).length;
  const having = (pattern) => sources.filter((source) => pattern.test(source)).length;
  const onOneStore = having(/\bstoresHere\(/);
  const inPart = having(/\b(?:describeOn|runsOn|storeContract|storeContractVariant)\(/);
  return `${without("node")} files on Node, ${without("bun")} on Bun, ${onOneStore} files with each engine on one runtime instead of both, some tests of ${inPart} files on one runtime instead of both`;
}
