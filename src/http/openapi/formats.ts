// Describes NDJSON requests and NDJSON and CSV lists in the OpenAPI document.

import { atomicLimits } from "../body/ndjson-atomic.ts";
import { commonHeaders } from "./answers.ts";
import { header } from "./components.ts";

const lines = (description: string) => ({
  "application/x-ndjson": { schema: { type: "string", description } },
});

/** The NDJSON body of a POST. */
export const bulkTypes = lines(
  "A JSON object on each line, each a resource to create. Also as `application/ndjson` and `application/jsonl`. Read as a stream: each line has the limit of a body.",
);

/** The response to it. */
export const bulkResponse = {
  description: `The results of an NDJSON request. Each line has its own result, in order: \`{"line":1,"status":201,"location":"…"}\`, or \`{"line":2,"status":400,"problem":{…}}\`. With \`atomic=true\` (at most ${atomicLimits.maxLines} lines) all are created, or none and the response is a problem. With \`Prefer: return=minimal\` the response has only the rejected lines, and at the end \`{"lines":2,"created":1}\`.`,
  headers: {
    ...commonHeaders,
    "Preference-Applied": header("PreferenceApplied"),
    "Idempotency-Replayed": header("IdempotencyReplayed"),
  },
  content: lines("A result on each line."),
};

/** A list in other formats. */
export const listFormats = {
  ...lines(
    "A resource on each line: all matching resources, unless `page`, `limit` or `cursor` is sent.",
  ),
  "text/csv": {
    schema: {
      type: "string",
      description:
        "A header row, and a row for each resource (RFC 4180), as many as with NDJSON. The columns are those in `fields`, or else those of the schema and of the first resources.",
    },
  },
};
