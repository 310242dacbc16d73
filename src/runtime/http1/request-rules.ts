// Decides whether the target, the Host and the transfer coding of a request are valid, alike on both runtimes.

import { type HttpError, malformed } from "./http-errors.ts";

/** `uri-host [ ":" port ]` of RFC 3986 §3.2; anything else in Host is invalid (RFC 9112 §3.2). */
const authorityForm = /^(?:\[[0-9a-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(?::(\d*))?$/i;

export const token = /^[!#$%&'*+\-.^_`|~\w]+$/;

const absoluteForm = /^https?:\/\/([^/?#]*)((?:[/?][^#]*)?)$/i;

export function isAuthority(text: string): boolean {
  const match = authorityForm.exec(text);
  return match !== null && Number(match[1] ?? 0) <= 65_535;
}

/** The field of HTTP/1.1 is required, and appears once. */
export function findHostError(host: string | undefined, minor: number): HttpError | undefined {
  if (host === undefined)
    return minor === 0 ? undefined : malformed("The header field Host is missing (RFC 9112 §3.2).");
  return isAuthority(host)
    ? undefined
    : malformed("Host is not a host name with an optional port (RFC 9112 §3.2).");
}

/** A part of the text without the spaces and tabs around it. Other white space is in a value (RFC 9110 §5.6.3). */
export function trimmed(text: string, from = 0, to = text.length): string {
  let start = from;
  let end = to;
  while (start < end && isSpace(text.charCodeAt(start))) start++;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

export const isSpace = (code: number): boolean => code === 32 || code === 9;

export function findCodingError(coding: string, minor: number): HttpError | undefined {
  if (minor === 0) return malformed("HTTP/1.0 has no Transfer-Encoding (RFC 9112 §6.1).");
  const codings = coding.split(",").map((name) => trimmed(name).toLowerCase());
  if (codings.indexOf("chunked") !== codings.length - 1)
    return malformed("`chunked` must be the last transfer coding (RFC 9112 §6.3).");
  return codings.length === 1
    ? undefined
    : { status: 501, detail: "The only supported transfer coding is `chunked`." };
}

/** A target in origin form, and the authority of an absolute one, which replaces Host (RFC 9112 §3.2.2). */
export interface OriginTarget {
  readonly path: string;
  readonly authority: string | undefined;
}

/** The path is `*` for the whole server. */
export function readTarget(target: string, method: string): OriginTarget | HttpError {
  if (target.includes("#"))
    return malformed("A request target must not contain a fragment (RFC 9112 §3.2).");
  if (target.startsWith("/"))
    return findPathError(target) ?? { path: target, authority: undefined };
  if (target === "*")
    return method === "OPTIONS"
      ? { path: target, authority: undefined }
      : malformed("The target `*` is for OPTIONS only (RFC 9110 §7.1).");

  const [, authority = "", pathAndQuery = ""] = absoluteForm.exec(target) ?? [];
  if (authority.includes("@"))
    return malformed("User information in a URL is not accepted (RFC 9110 §4.2.4).");
  if (!isAuthority(authority))
    return malformed("The request target is not a valid URL (RFC 9112 §3.2).");
  const path = pathAndQuery.startsWith("/") ? pathAndQuery : `/${pathAndQuery}`;
  return findPathError(path) ?? { path, authority };
}

/** A URL resolves dot segments and backslashes, so it would address another resource. */
function findPathError(target: string): HttpError | undefined {
  if (!target.includes("\\") && !target.includes("/.") && !target.includes("%")) return undefined;
  const [path = ""] = target.split("?", 1);
  if (path.includes("\\")) return malformed("A path must not contain a backslash (RFC 3986 §3.3).");
  return dotSegment.test(path)
    ? malformed("A path must not contain dot segments; send the resolved path.")
    : undefined;
}

const dotSegment = /\/(?:\.|%2e){1,2}(?:\/|$)/i;
