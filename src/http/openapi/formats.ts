// Describes the other formats of resources: NDJSON, CSV, forms with files, and the bytes of a file.

import { atomicLimits } from "../body/bulk-atomic.ts";
import type { BodyContent, RouteResponse } from "../request/route.ts";
import { headers } from "./headers.ts";

const lines = (description: string): BodyContent => ({
  "application/x-ndjson": { schema: { type: "string", description } },
});

/** The NDJSON and CSV bodies of a POST. */
export const bulkContent: BodyContent = {
  ...lines(
    "A JSON object on each line, each a resource to create. Also as `application/ndjson` and `application/jsonl`. Read as a stream: each line has the limit of a body.",
  ),
  "text/csv": {
    schema: {
      type: "string",
      description:
        "A header row with the names of the fields, with dots for nested ones, and a row for each resource (RFC 4180). The schema gives the types. Separated by commas, semicolons or tabs; in UTF-8, or in Windows-1252 with `charset=windows-1252`.",
    },
  },
};

/** The response to it. */
export const bulkReply: RouteResponse = {
  description: `The results of an NDJSON or CSV request. Each line has its own result, in order: \`{"line":1,"status":201,"location":"…"}\`, or \`{"line":2,"status":400,"problem":{…}}\`. With \`key\`, the status of a replaced resource is 200. With \`atomic=true\` (at most ${atomicLimits.maxLines} lines) all are written, or none and the response is a problem. With \`Prefer: return=minimal\` the response has only the rejected lines, and at the end \`{"lines":2,"created":1}\`.`,
  headers: {
    "Preference-Applied": headers.preferenceApplied,
    "Idempotency-Replayed": headers.idempotencyReplayed,
  },
  content: lines("A result on each line."),
};

/** A list in other formats. */
export const listContent: BodyContent = {
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

/** The multipart form of any collection. */
export const formSchema = {
  type: "object",
  description:
    "The texts and files of a form. The collection's schema gives the type of a text, a part with `Content-Type: application/json` is JSON, and a file is shown as `{name, type, size, sha256, url}`; several with one name become an array. Instead of texts, one JSON part `data` can have all fields.",
  additionalProperties: {},
};

const bytes = { schema: { type: "string", format: "binary" } };

/** The bytes of a file. */
export const fileBytes: BodyContent = { "application/octet-stream": bytes };

/** The bytes of a file with the media type that it was sent with. */
export const storedFileBytes: BodyContent = { ...fileBytes, "*/*": bytes };
