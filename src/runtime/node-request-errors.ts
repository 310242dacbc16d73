// Finds errors in requests that the node:http parser accepts: version, transfer coding, size, target and Host.

import type { IncomingMessage } from "node:http";

/** Why a request is rejected before the application handles it. */
export interface HttpError {
  readonly status: number;
  readonly detail: string;
}

/** node:http keeps about this many header lines and drops the rest silently. */
const maxFieldLines = 1_000;

/** `uri-host [ ":" port ]` of RFC 3986 §3.2; anything else in Host is invalid (RFC 9112 §3.2). */
const authorityForm = /^(?:\[[0-9a-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(?::(\d*))?$/i;

const absoluteForm = /^https?:\/\/([^/?#]*)((?:[/?][^#]*)?)$/i;

/** Checks a request whose header section was parsed. */
export function findRequestError(
  incoming: IncomingMessage,
  maxHeaderBytes: number,
): HttpError | undefined {
  return (
    findVersionError(incoming) ??
    findTransferCodingError(incoming) ??
    findSizeError(incoming, maxHeaderBytes) ??
    findTargetError(incoming) ??
    findHostError(incoming)
  );
}

/** The same over HTTP/2, where `:authority` is the host (RFC 9113 §8.3.1). */
export function findHttp2Error(
  incoming: IncomingMessage,
  maxHeaderBytes: number,
): HttpError | undefined {
  const { url = "" } = incoming;
  if (!url.startsWith("/") && url !== "*")
    return { status: 400, detail: "The path must begin with a slash (RFC 9113 §8.3.1)." };
  return (
    findAuthorityError(incoming) ??
    findSizeError(incoming, maxHeaderBytes) ??
    findTargetError(incoming) ??
    findHostError(incoming)
  );
}

/** Adds `:authority` as Host, which the application reads. */
function findAuthorityError({ headers, rawHeaders }: IncomingMessage): HttpError | undefined {
  const authority = headers[":authority"];
  if (typeof authority !== "string") return undefined;
  if (headers.host === undefined) rawHeaders.push("host", authority);
  else if (headers.host !== authority)
    return { status: 400, detail: "Host differs from :authority (RFC 9113 §8.3.1)." };
  return undefined;
}

function findVersionError(incoming: IncomingMessage): HttpError | undefined {
  if (incoming.httpVersionMajor !== 1) return versionNotSupported;
  return incoming.httpVersionMinor === 0 && isRtsp(incoming) ? versionNotSupported : undefined;
}

/**
 * The parser reports `RTSP/1.0` as HTTP/1.0. The last packet shows the difference when it contains the
 * whole header section.
 */
function isRtsp({ method, url, socket }: IncomingMessage): boolean {
  const { parser } = socket as { parser?: { getCurrentBuffer?: () => Buffer | undefined } };
  const packet = parser?.getCurrentBuffer?.();
  return packet?.includes(`${method} ${url} RTSP/`) ?? false;
}

export const versionNotSupported: HttpError = {
  status: 505,
  detail: "Only HTTP/1.1 and HTTP/1.0 are supported.",
};

function findTransferCodingError(incoming: IncomingMessage): HttpError | undefined {
  const coding = incoming.headers["transfer-encoding"];
  if (coding === undefined) return undefined;
  if (incoming.httpVersionMinor === 0)
    return { status: 400, detail: "HTTP/1.0 has no Transfer-Encoding (RFC 9112 §6.1)." };
  const codings = coding.split(",").map((name) => name.trim().toLowerCase());
  if (codings.indexOf("chunked") !== codings.length - 1)
    return { status: 400, detail: "`chunked` must be the last transfer coding (RFC 9112 §6.3)." };
  return codings.length === 1
    ? undefined
    : { status: 501, detail: "The only supported transfer coding is `chunked`." };
}

function findSizeError(
  { url = "", rawHeaders }: IncomingMessage,
  maxHeaderBytes: number,
): HttpError | undefined {
  if (url.length > maxHeaderBytes) return targetTooLong;
  if (rawHeaders.length > maxFieldLines * 2)
    return { status: 431, detail: `The request has more than ${maxFieldLines} header lines.` };
  let sectionBytes = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    const lineBytes = name.length + (rawHeaders[at + 1] ?? "").length + ": \r\n".length;
    if (lineBytes > maxHeaderBytes)
      return {
        status: 431,
        detail: `The field ${name.slice(0, 80)} is over ${maxHeaderBytes} bytes.`,
      };
    sectionBytes += lineBytes;
  }
  return sectionBytes > maxHeaderBytes
    ? { status: 431, detail: `The header section is over ${maxHeaderBytes} bytes.` }
    : undefined;
}

export const targetTooLong: HttpError = { status: 414, detail: "The request target is too long." };

function findTargetError(incoming: IncomingMessage): HttpError | undefined {
  const { url: target = "", method } = incoming;
  if (target.includes("#"))
    return { status: 400, detail: "A request target must not contain a fragment (RFC 9112 §3.2)." };
  if (target.startsWith("/")) return findPathError(target);
  if (target === "*")
    return method === "OPTIONS"
      ? undefined
      : { status: 400, detail: "The target `*` is for OPTIONS only (RFC 9110 §7.1)." };

  const [, authority = "", pathAndQuery = ""] = absoluteForm.exec(target) ?? [];
  if (authority.includes("@"))
    return { status: 400, detail: "User information in a URL is not accepted (RFC 9110 §4.2.4)." };
  if (!isAuthority(authority))
    return { status: 400, detail: "The request target is not a valid URL (RFC 9112 §3.2)." };
  return (
    findPathError(pathAndQuery) ??
    findHostError(incoming) ??
    toOriginForm(incoming, authority, pathAndQuery)
  );
}

/** A Request resolves dot segments and backslashes, so it would address another resource. */
function findPathError(target: string): HttpError | undefined {
  if (!target.includes("\\") && !target.includes("/.") && !target.includes("%")) return undefined;
  const [path = ""] = target.split("?", 1);
  if (path.includes("\\"))
    return { status: 400, detail: "A path must not contain a backslash (RFC 3986 §3.3)." };
  return dotSegment.test(path)
    ? { status: 400, detail: "A path must not contain dot segments; send the resolved path." }
    : undefined;
}

const dotSegment = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

/** The authority of an absolute target replaces Host (RFC 9112 §3.2.2). */
function toOriginForm(
  incoming: IncomingMessage,
  authority: string,
  pathAndQuery: string,
): undefined {
  incoming.url = pathAndQuery.startsWith("/") ? pathAndQuery : `/${pathAndQuery}`;
  incoming.headers.host = authority;
  const at = incoming.rawHeaders.findIndex((name, index) => index % 2 === 0 && isHost(name));
  if (at < 0) incoming.rawHeaders.push("Host", authority);
  else incoming.rawHeaders[at + 1] = authority;
}

function findHostError({ rawHeaders, httpVersionMinor }: IncomingMessage): HttpError | undefined {
  let host: string | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (!isHost(rawHeaders[at])) continue;
    if (host !== undefined)
      return { status: 400, detail: "Host was sent more than once (RFC 9112 §3.2)." };
    host = rawHeaders[at + 1] ?? "";
  }
  if (host === undefined)
    return httpVersionMinor === 0
      ? undefined
      : { status: 400, detail: "The header field Host is missing (RFC 9112 §3.2)." };
  return isAuthority(host)
    ? undefined
    : { status: 400, detail: "Host is not a host name with an optional port (RFC 9112 §3.2)." };
}

function isHost(name: string | undefined): boolean {
  return name?.length === 4 && name.toLowerCase() === "host";
}

function isAuthority(text: string): boolean {
  const match = authorityForm.exec(text);
  return match !== null && Number(match[1] ?? 0) <= 65_535;
}
