// Splits a request URL into path and query, and rejects invalid targets.

import { Problem } from "../../model/problem.ts";

export const maxTargetBytes = 8192;

export interface Target {
  /** As it was sent, percent-encoded. */
  readonly path: string;
  /** Without the question mark; empty when there is none. */
  readonly query: string;
}

/**
 * `request.url` is `http://host/path?query`. On Bun it is only the path when Host is missing, as
 * HTTP/1.0 allows, or invalid.
 */
export function readTarget(url: string, host: string | null): Target | Problem {
  const pathStart = url.startsWith("http") ? url.indexOf("/", 8) : host === null ? 0 : -1;
  if (pathStart < 0) return malformed("The Host field is not a valid host.");
  if (url.length - pathStart > maxTargetBytes) {
    return new Problem(
      "uri-too-long",
      `The request target is longer than ${maxTargetBytes} bytes.`,
    );
  }
  if (url.includes("#"))
    return malformed("A request target must not have a fragment (RFC 9112 §3.2).");
  const queryStart = url.indexOf("?", pathStart);
  const path = queryStart < 0 ? url.slice(pathStart) : url.slice(pathStart, queryStart);
  const query = queryStart < 0 ? "" : url.slice(queryStart + 1);
  if ((path.includes("/.") || path.includes("%")) && dotSegment.test(path)) {
    return malformed("Dot segments in a path are not accepted; send the resolved path.");
  }
  if (path.includes("%")) {
    const decoded = decodeSegment(path);
    if (decoded instanceof Problem) return decoded;
  }
  // Browsers read a backslash as a slash, so `/\evil.example/` would redirect them there.
  if (path.includes("\\")) return malformed("A path must not contain a backslash (RFC 3986 §3.3).");
  return { path, query };
}

const dotSegment = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

/** Decodes a path segment exactly once. */
export function decodeSegment(segment: string): string | Problem {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return malformed("The percent-encoding in the path is not valid UTF-8.");
  }
}

function malformed(detail: string): Problem {
  return new Problem("malformed-request", detail);
}
