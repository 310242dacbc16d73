// Media types: what a body says it is, and what the client can take.

import { parse } from "content-type";
import Negotiator from "negotiator";
import { Problem } from "../model/problem.ts";
import { Refusal } from "./problem.ts";

/** Refuses a client whose Accept excludes every type on offer (RFC 9110 §12.5.1). */
export function refuseUnacceptable(
  headers: Headers,
  offered: readonly string[],
): Problem | undefined {
  const accept = headers.get("accept");
  if (accept === null || accept === "*/*" || accept === offered[0]) return undefined;
  if (new Negotiator({ headers: { accept } }).mediaType([...offered]) !== undefined)
    return undefined;
  return new Problem("not-acceptable", `This address answers with ${offered.join(" or ")}.`);
}

/** Refuses a body that is not JSON in UTF-8. Parsed once, matched exactly: nothing else gets by. */
export function refuseUnlessJson(headers: Headers, acceptPost: string): Problem | undefined {
  const field = headers.get("content-type");
  if (field === "application/json") return undefined;
  const unsupported = (detail: string) =>
    new Refusal("unsupported-media-type", detail, { "accept-post": acceptPost });
  if (field === null || field === "") {
    return unsupported("Content-Type is missing. Send `Content-Type: application/json`.");
  }
  if (field.includes(",")) {
    return new Problem("malformed-request", "Content-Type was sent more than once.");
  }
  const { type, parameters } = readMediaType(field);
  if (type !== "application/json" && !/^application\/[^;]+\+json$/.test(type)) {
    return unsupported(`The body must be ${acceptPost}.`);
  }
  const charset = parameters.charset;
  if (charset !== undefined && charset.toLowerCase() !== "utf-8") {
    return unsupported("JSON is always UTF-8 (RFC 8259 §8.1); leave the charset out.");
  }
  return undefined;
}

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
