// Finds errors in requests that the node:http parser accepts: version, transfer coding, size, target and Host.

import type { IncomingMessage } from "node:http";
import {
  fieldTooLarge,
  type HttpError,
  malformed,
  maxFieldLines,
  repeatedHost,
  sectionTooLarge,
  targetTooLong,
  tooManyLines,
  versionNotSupported,
} from "./http1/http-errors.ts";
import { findCodingError, findHostError, readTarget } from "./http1/request-rules.ts";

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
    findHostLineError(incoming)
  );
}

/** The same over HTTP/2, where `:authority` is the host (RFC 9113 §8.3.1). */
export function findHttp2Error(
  incoming: IncomingMessage,
  maxHeaderBytes: number,
): HttpError | undefined {
  const { url = "" } = incoming;
  if (!url.startsWith("/") && url !== "*")
    return malformed("The path must begin with a slash (RFC 9113 §8.3.1).");
  return (
    findAuthorityError(incoming) ??
    findSizeError(incoming, maxHeaderBytes) ??
    findTargetError(incoming) ??
    findHostLineError(incoming)
  );
}

/** Adds `:authority` as Host, which the application reads. */
function findAuthorityError({ headers, rawHeaders }: IncomingMessage): HttpError | undefined {
  const authority = headers[":authority"];
  if (typeof authority !== "string") return undefined;
  if (headers.host === undefined) rawHeaders.push("host", authority);
  else if (headers.host !== authority)
    return malformed("Host differs from :authority (RFC 9113 §8.3.1).");
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

function findTransferCodingError(incoming: IncomingMessage): HttpError | undefined {
  const coding = incoming.headers["transfer-encoding"];
  return coding === undefined ? undefined : findCodingError(coding, incoming.httpVersionMinor);
}

function findSizeError(
  { url = "", rawHeaders }: IncomingMessage,
  maxHeaderBytes: number,
): HttpError | undefined {
  if (url.length > maxHeaderBytes) return targetTooLong;
  if (rawHeaders.length > maxFieldLines * 2) return tooManyLines;
  let sectionBytes = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    const lineBytes = name.length + (rawHeaders[at + 1] ?? "").length + ": \r\n".length;
    if (lineBytes > maxHeaderBytes) return fieldTooLarge(name, maxHeaderBytes);
    sectionBytes += lineBytes;
  }
  return sectionBytes > maxHeaderBytes ? sectionTooLarge(maxHeaderBytes) : undefined;
}

function findTargetError(incoming: IncomingMessage): HttpError | undefined {
  const target = readTarget(incoming.url ?? "", incoming.method ?? "");
  if ("status" in target) return target;
  const { path, authority } = target;
  return authority === undefined
    ? undefined
    : (findHostLineError(incoming) ?? toOriginForm(incoming, authority, path));
}

/** The authority of an absolute target replaces Host (RFC 9112 §3.2.2). */
function toOriginForm(incoming: IncomingMessage, authority: string, path: string): undefined {
  incoming.url = path;
  incoming.headers.host = authority;
  const at = incoming.rawHeaders.findIndex((name, index) => index % 2 === 0 && isHost(name));
  if (at < 0) incoming.rawHeaders.push("Host", authority);
  else incoming.rawHeaders[at + 1] = authority;
}

function findHostLineError({
  rawHeaders,
  httpVersionMinor,
}: IncomingMessage): HttpError | undefined {
  let host: string | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (!isHost(rawHeaders[at])) continue;
    if (host !== undefined) return repeatedHost;
    host = rawHeaders[at + 1] ?? "";
  }
  return findHostError(host, httpVersionMinor);
}

function isHost(name: string | undefined): boolean {
  return name?.length === 4 && name.toLowerCase() === "host";
}
