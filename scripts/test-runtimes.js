// Chooses the runtimes of a test file: in `npm test` one, unless what it tests depends on the runtime.

import { isNamed } from "./test-groups.js";

/** These read texts of the project or start programs of Node, in every run. */
const ofTheProject = ["/tidy.test", "/docs.test", "/scripts.test", "/test-runner.test"];

/** Requests and responses as bytes: parsers, bodies, streams, connections, header fields. */
const bytes = [
  "/runtime/",
  "/http/action-responses.test",
  "/http/byteranges.test",
  "/http/chunked.test",
  "/http/content-coding.test",
  "/http/decompression-bombs.test",
  "/http/downloads.test",
  "/http/multipart-stream.test",
  "/http/ndjson-disconnect.test",
  "/http/ndjson-pipeline.test",
  "/http/pipeline.test",
  "/http/request-target.test",
  "/http/response-headers.test",
  "/http/text-stream.test",
  "/http/uploads.test",
];

/** Regular expressions, JSON, encodings, numbers and calendars of the runtime. */
const languages = [
  "/model/json.test",
  "/model/like.test",
  "/model/number.test",
  "/model/redos.test",
  "/model/time-buckets.test",
  "/model/utf8.test",
  "/model/validator.test",
];

/** Processes, signals, threads, files, and the drivers of the engines. */
const system = [
  "/main.test",
  "/reload.test",
  "/workers.test",
  "/store/disk/",
  "/store/pictures/",
  "/store/postgres.test",
  "/store/postgres/connection.test",
  "/store/sqlite.test",
  "/store/sqlite/failures.test",
  "/store/sqlite/open.test",
];

const onBoth = [...bytes, ...languages, ...system];

/** These run on Node: its tools, actions that import the sources, which an executable cannot, half of the upgrades, and some of each kind, so that Node is covered well. */
const onNode = [
  "/generators/",
  "/http/content-digest.test",
  "/http/prepared-responses.test",
  "/store/postgres/upgrade.test",
  "/store/remote-committer.test",
  "/store/s3/faults.test",
  "/store/sqlite/migrate-old.test",
  "/store/sqlite/search.test",
  "/store/sqlite/statements.test",
  "/test/actions.test",
];

/**
 * Returns those of the chosen runtimes that a file runs on. `isShort` is a run of all files by `npm test`:
 * what is not named above runs on Bun, which takes less time.
 */
export function runtimesOf(file, chosen, isShort) {
  if (chosen.length === 1) return chosen;
  if (isNamed(file, ofTheProject)) return ["bun"];
  if (!isShort || isNamed(file, onBoth)) return chosen;
  return isNamed(file, onNode) ? ["node"] : ["bun"];
}

/** Says what a short run leaves to `npm run test:long`, next to the full counts of random tests. */
export function leftOut(files, sources) {
  const both = ["node", "bun"];
  const without = (runtime) =>
    files
      .filter((file) => !isNamed(file, ofTheProject))
      .filter((file) => !runtimesOf(file, both, true).includes(runtime)).length;
  const inPart = sources.filter((source) =>
    /\b(?:describeOn|isShort|itOn|storeContract|storesHere)\b/.test(source),
  );
  return `${without("node")} files on Node, ${without("bun")} on Bun, some tests of ${inPart.length} files on one runtime or engine instead of both, and the full counts of random tests`;
}
