// Splits a request URL into path and query, and parses the query strictly: a typo must not change the result.

import { type ParameterError, Problem } from "../../model/problem.ts";
import type { ListRequest } from "../../model/query/list-request.ts";
import { holdsSecret } from "../../model/secret.ts";

const maxTargetBytes = 8192;

export interface RequestTarget {
  /** As it was sent, percent-encoded. */
  readonly path: string;
  /** Without the question mark; empty when there is none. */
  readonly query: string;
}

/**
 * `request.url` is `http://host/path?query`. On Bun it is only the path when Host is missing, as
 * HTTP/1.0 allows, or invalid.
 */
export function readTarget(url: string, host: string | null): RequestTarget | Problem {
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
  return checkQueryEncoding(query) ?? { path, query };
}

const dotSegment = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

/** Decodes a path segment exactly once. */
export const decodeSegment = (segment: string): string | Problem => decode(segment, "path");

/**
 * Rejects what URLSearchParams would replace by U+FFFD, so that different values would be the same. A percent
 * sign without two digits stands for itself there.
 */
export function checkQueryEncoding(query: string): Problem | undefined {
  if (!query.includes("%")) return undefined;
  const decoded = decode(query.replaceAll(singlePercent, "%25"), "query");
  return decoded instanceof Problem ? decoded : undefined;
}

const singlePercent = /%(?![0-9a-f]{2})/gi;

function decode(text: string, part: "path" | "query"): string | Problem {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return malformed(`The percent-encoding in the ${part} is not valid UTF-8.`);
  }
}

function malformed(detail: string): Problem {
  return new Problem("malformed-request", detail);
}

const credentialName =
  /^(?:access[_-]?token|refresh[_-]?token|id[_-]?token|token|bearer|auth|authorization|jwt|api[_-]?key|apikey|client[_-]?secret|secret|password|passwd|pwd)$/i;

/** The decoded parameters of a query string, in the order in which they were sent. */
export type SearchParams = readonly (readonly [name: string, value: string])[];

/** Pairs without anything to decode. Splitting them is several times faster than URLSearchParams. */
const plainPairs = /^[\w.[\]-]+=[\w.,:~*-]*(?:&[\w.[\]-]+=[\w.,:~*-]*)*$/;

export function readSearchParams(query: string): SearchParams {
  if (query === "") return [];
  if (!plainPairs.test(query)) return [...new URLSearchParams(withValues(query))];
  return query.split("&").map((pair) => {
    const equals = pair.indexOf("=");
    return [pair.slice(0, equals), pair.slice(equals + 1)];
  });
}

/** Each parameter has an equals sign: on Node one without makes URLSearchParams search all of the rest. */
function withValues(query: string): string {
  const pairs = query.replace(/^\?/, "").split("&");
  const named = pairs.filter((pair) => pair !== "");
  return `?${named.map((pair) => (pair.includes("=") ? pair : `${pair}=`)).join("&")}`;
}

/** Returns the name of a parameter that contains a credential, which a URL must never have. */
export const findCredential = (searchParams: SearchParams): string | undefined =>
  searchParams.find(([name, value]) => isCredential(name, value))?.[0];

/** The name counts without its operator in brackets. */
const isCredential = (name: string, value: string): boolean =>
  credentialName.test(name.split("[", 1)[0] ?? "") ||
  (name === "where" && hasCredentialMember(value)) ||
  holdsSecret(`${name} ${value}`);

/** Whether a text of JSON has a member with the name of a credential. */
const hasCredentialMember = (json: string): boolean =>
  [...json.matchAll(/"([\w-]+)"\s*:/g)].some(([, name = ""]) => credentialName.test(name));

/** Returns the parameters by name; unknown and repeated ones are errors. */
export function readParameters<Name extends string>(
  searchParams: SearchParams,
  known: readonly Name[],
): Partial<Record<Name, string>> | Problem {
  const found: Partial<Record<string, string>> = Object.create(null);
  const errors: ParameterError[] = [];
  for (const [name, value] of searchParams) {
    if (!(known as readonly string[]).includes(name)) {
      const exist =
        known.length > 0
          ? `The parameters are: ${known.join(", ")}.`
          : "This address takes no parameters.";
      errors.push({ parameter: name, detail: `There is no parameter with this name. ${exist}` });
    } else if (found[name] !== undefined) {
      errors.push({ parameter: name, detail: "The parameter is repeated; send it once." });
    } else {
      found[name] = value;
    }
  }
  return errors.length > 0 ? invalid(errors) : (found as Partial<Record<Name, string>>);
}

/** The problem of an invalid list request in a URL. */
export const invalidListRequest = (errors: ListRequest["errors"]): Problem =>
  invalid(errors as readonly ParameterError[]);

export const invalid = (errors: readonly ParameterError[]): Problem =>
  new Problem("invalid-parameter", "The query string is not valid; `errors` lists each error.", {
    errors,
  });

/** Rejects any parameter: most addresses take none, and a mistake must not pass silently. */
export function rejectParameters({
  searchParams,
}: {
  readonly searchParams: SearchParams;
}): Problem | undefined {
  const parameters = readParameters(searchParams, []);
  return parameters instanceof Problem ? parameters : undefined;
}
