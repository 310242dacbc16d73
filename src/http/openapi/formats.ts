// The OpenAPI document's part about lines and rows: many resources at once, and collections as NDJSON and CSV.

import { atomicLimits } from "../body/ndjson-atomic.ts";
import { commonHeaders } from "./answers.ts";
import { header } from "./components.ts";

const lines = (description: string) => ({
  "application/x-ndjson": { schema: { type: "string", description } },
});

/** What a POST takes beside one resource. */
export const manyTypes = lines(
  "A JSON object on each line, each a resource to create. Also as `application/ndjson` and `application/jsonl`. Read as a stream: each line has the limit of a body, all of them together have none to speak of.",
);

/** The answer to it. */
export const manyAnswer = {
  description: `Many were sent, as NDJSON. Each line has its own result, in order: \`{"line":1,"status":201,"location":"…"}\`, or \`{"line":2,"status":400,"problem":{…}}\`. With \`atomic=true\` (at most ${atomicLimits.maxLines} lines) all are created, or none and a problem is answered. With \`Prefer: return=minimal\` only what was refused is told, and at the end \`{"lines":2,"created":1}\`.`,
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
    "A resource on each line: all that the question chooses, unless `page`, `limit` or `cursor` ask for a part of it.",
  ),
  "text/csv": {
    schema: {
      type: "string",
      description:
        "A header row, and a row for each resource (RFC 4180), as many as with NDJSON. The columns are those that `fields` names, or else those that the schema declares and what else the first resources have.",
    },
  },
};
