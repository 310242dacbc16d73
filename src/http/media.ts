// Media types: what a body says it is, and what the client can take.

import { parse } from "content-type";
import Negotiator from "negotiator";
import { Problem } from "../model/problem.ts";
import { Refusal } from "./problem.ts";

export const jsonTypes = ["application/json"] as const;

/** Refuses a client whose Accept excludes every type on offer (RFC 9110 §12.5.1). */
export function refuseUnacceptable(
  headers: Headers,
  offered: readonly string[],
): Problem | undefined {
  const accept = headers.get("accept");
  if (accept === null || accept === "" || accept === "*/*" || accept === offered[0])
    return undefined;
  // What we send is UTF-8, so a client that insists on that is served, although JSON has no charset.
  const spelled = offered.flatMap((type) => [type, `${type};charset=utf-8`]);
  if (new Negotiator({ headers: { accept } }).mediaType(spelled) !== undefined) return undefined;
  return new Problem("not-acceptable", `This address answers with ${offered.join(" or ")}.`);
}

/** RFC 6839 §3.1: whatever ends in +json can be read as JSON. */
const jsonType = /^(?:application\/json|[\w.!#$&^-]+\/[\w.!#$&^+-]+\+json)$/;

/** Refuses a body that is not JSON in UTF-8. Parsed once, matched exactly: nothing else gets by. */
export function refuseUnlessJson(headers: Headers, acceptPost: string): Problem | undefined {
  const coding = headers.get("content-encoding");
  if (coding !== null && coding.toLowerCase() !== "identity") return undecodable;
  const field = headers.get("content-type");
  if (field === "application/json") return undefined;
  const unsupported = (detail: string) =>
    new Refusal("unsupported-media-type", detail, { "accept-post": acceptPost });
  if (field === null || field === "") {
    return unsupported("Content-Type is missing. Send `Content-Type: application/json`.");
  }
  if (field.replace(/"[^"]*"/g, "").includes(",")) {
    return new Problem("malformed-request", "Content-Type was sent more than once.");
  }
  const { type, parameters } = readMediaType(field);
  if (!jsonType.test(type)) return unsupported(`The body must be ${acceptPost}.`);
  const charset = parameters.charset;
  if (charset !== undefined && charset.toLowerCase() !== "utf-8") {
    return unsupported("JSON is always UTF-8 (RFC 8259 §8.1); leave the charset out.");
  }
  return undefined;
}

/** Storing what was not decoded would lose it; RFC 9110 §12.5.3 has the field that says so. */
const undecodable = new Refusal(
  "unsupported-media-type",
  "Send the body as it is, without a Content-Encoding.",
  { "accept-encoding": "identity" },
);

function readMediaType(field: string): {
  type: string;
  parameters: Readonly<Record<string, string>>;
} {
  try {
    return parse(field);
  } catch {
    return { type: "", parameters: {} };
  }
}
