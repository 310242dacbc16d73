// Chooses the runtimes of a test file: in `npm test` one, unless what it tests depends on the runtime.

import { isNamed } from "./test-groups.js";

/** These read texts of the project or start programs of Node, in every run. */
const ofTheProject = ["/tidy.test", "/docs.test", "/scripts.test", "/test-runner.test"];

/** These start other programs, which do not care which runtime runs the test. */
const onlyOnNode = [
  "/client/react-admin.long.test",
  "/client/refine.long.test",
  "/client/runtimes.long.test",
  "/deploy/dashboard.long.test",
  "/deploy/image.long.test",
  "/deploy/service.long.test",
  "/deploy/tools.long.test",
  "/generators/",
  "/new-app.long.test",
  "/package.long.test",
];

/** Requests and responses as bytes: parsers, bodies, streams, connections, header fields. */
const bytes = [
  "/runtime/",
  "/client/client.test",
  "/http/action-responses.test",
  "/http/chunked.test",
  "/http/content-coding.test",
  "/http/multipart-stream.test",
  "/http/ndjson-disconnect.test",
  "/http/pipeline.test",
  "/http/request-target.test",
  "/http/response-headers.test",
  "/http/text-stream.test",
];

/** Regular expressions, JSON, encodings, numbers and calendars of the runtime. */
const languages = [
  "/model/json.test",
  "/model/like.test",
  "/model/number.test",
  "/model/time-buckets.test",
  "/model/utf8.test",
  "/model/validator.test",
];

/** Processes, signals, threads, files, and the drivers of the engines. */
const system = [
  "/main.test",
  "/workers.test",
  "/store/disk/",
  "/store/postgres.test",
  "/store/postgres/connection.test",
  "/store/sqlite.test",
  "/store/sqlite/failures.test",
  "/store/sqlite/open.test",
];

const onBoth = [...bytes, ...languages, ...system];

/** These run on Node: actions that import the sources, which an executable cannot, and some of each kind. */
const onNode = [
  "/http/content-digest.test",
  "/store/s3/faults.test",
  "/store/sqlite/search.test",
  "/store/sqlite/statements.test",
  "/test/actions.test",
];

/** Left to `npm run test:long`: they take long, and other files find most of what they find. */
const onNone = [
  "/client/sync-browser.test",
  "/console/grid-lists.test",
  "/console/grid-many.test",
  "/console/grid-walk.test",
  "/console/session.test",
  "/console/uploads.test",
  "/console/walks.test",
  "/console/work.test",
  "/generators/",
  "/test/descriptors.test",
  "/test/growth.test",
  "/http/client-generated.test",
  "/http/picture-processes.test",
];

/**
 * Returns those of the chosen runtimes that a file runs on. `isShort` is a run of all files by `npm test`:
 * what is not named above runs on Bun, which takes less time.
 */
export function runtimesOf(file, chosen, isShort) {
  if (isShort && isNamed(file, onNone)) return [];
  if (isNamed(file, onlyOnNode)) return chosen.filter((runtime) => runtime === "node");
  if (chosen.length === 1) return chosen;
  if (isNamed(file, ofTheProject)) return ["bun"];
  if (!isShort || isNamed(file, onBoth)) return chosen;
  return isNamed(file, onNode) ? ["node"] : ["bun"];
}

/** Says what a short run leaves to `npm run test:long`, next to the full counts of random tests. */
export function leftOut(files, sources) {
  const kept = files
    .filter((file) => !isNamed(file, ofTheProject))
    .map((file) => runtimesOf(file, ["node", "bun"], true));
  const none = kept.filter((runtimes) => runtimes.length === 0).length;
  const without = (runtime) => kept.filter((runtimes) => !runtimes.includes(runtime)).length - none;
  const inPart = sources.filter((source) =>
    /\b(?:describeOn|enginePairs|isShort|itLong|itOn|looks|storeContract|storesHere)\b/.test(
      source,
    ),
  );
  return `${none} files, ${without("node")} more on Node and ${without("bun")} on Bun, some tests of ${inPart.length} files, and the full counts of random tests`;
}
