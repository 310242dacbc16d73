// Why a request is refused before the application sees it: what node:http's parser lets through or says badly.

import type { IncomingMessage } from "node:http";

export interface Refusal {
  readonly status: number;
  readonly detail: string;
}

/** node:http would keep about this many field lines and drop the rest in silence. */
const maxFieldLines = 1_000;

/** `uri-host [ ":" port ]` of RFC 3986 §3.2; anything else in Host is invalid (RFC 9112 §3.2). */
const authorityForm = /^(?:\[[0-9a-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(?::(\d*))?$/i;

const absoluteForm = /^https?:\/\/([^/?#]*)([^#]*)$/i;

/** What is wrong with a request whose header section the parser accepted. */
export function findFault(incoming: IncomingMessage, maxHeaderBytes: number): Refusal | undefined {
  return (
    findVersionFault(incoming) ??
    findCodingFault(incoming) ??
    findSizeFault(incoming, maxHeaderBytes) ??
    findTargetFault(incoming) ??
    findHostFault(incoming)
  );
}

function findVersionFault({ httpVersionMajor }: IncomingMessage): Refusal | undefined {
  return httpVersionMajor === 1 ? undefined : versionNotSupported;
}

const versionNotSupported: Refusal = {
  status: 505,
  detail: "Only HTTP/1.1 and HTTP/1.0 are spoken here.",
};

function findCodingFault(incoming: IncomingMessage): Refusal | undefined {
  const coding = incoming.headers["transfer-encoding"];
  if (coding === undefined) return undefined;
  if (incoming.httpVersionMinor === 0)
    return { status: 400, detail: "HTTP/1.0 has no Transfer-Encoding (RFC 9112 §6.1)." };
  if (/^chunked$/i.test(coding)) return undefined;
  return /^(?!.*\bchunked\b.*,).*,\s*chunked$/i.test(coding)
    ? { status: 501, detail: "The only transfer coding understood is `chunked`." }
    : { status: 400, detail: "The last transfer coding must be `chunked`, once (RFC 9112 §6.1)." };
}

function findSizeFault(
  { url = "", rawHeaders }: IncomingMessage,
  maxHeaderBytes: number,
): Refusal | undefined {
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

const targetTooLong: Refusal = { status: 414, detail: "The request target is too long." };

function findTargetFault(incoming: IncomingMessage): Refusal | undefined {
  const { url: target = "", method } = incoming;
  if (target.includes("#"))
    return { status: 400, detail: "A request target has no fragment (RFC 9112 §3.2)." };
  if (target.startsWith("/")) return undefined;
  if (target === "*")
    return method === "OPTIONS"
      ? undefined
      : { status: 400, detail: "The target `*` is for OPTIONS only (RFC 9110 §7.1)." };

  const [, authority = "", pathAndQuery = ""] = absoluteForm.exec(target) ?? [];
  if (authority.includes("@"))
    return { status: 400, detail: "User information in a URL is not accepted (RFC 9110 §4.2.4)." };
  if (!isAuthority(authority))
    return { status: 400, detail: "The request target is no valid URL (RFC 9112 §3.2)." };
  return findHostFault(incoming) ?? toOriginForm(incoming, authority, pathAndQuery);
}

/** The authority of an absolute target replaces what Host says (RFC 9112 §3.2.2). */
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

function findHostFault({ rawHeaders, httpVersionMinor }: IncomingMessage): Refusal | undefined {
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
      : { status: 400, detail: "The field Host is missing (RFC 9112 §3.2)." };
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

/** What node:http hands to `clientError`: an error of its parser (llhttp), of its clocks or of the socket. */
export interface ParserError extends Error {
  readonly code?: string;
  readonly reason?: string;
  readonly bytesParsed?: number;
  readonly rawPacket?: Buffer;
}

/** What to say to a parser error; undefined when the socket itself broke and nobody is listening. */
export function explain(error: ParserError): Refusal | undefined {
  switch (error.code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { status: 408, detail: "The request did not arrive in time." };
    case "HPE_HEADER_OVERFLOW":
      return overranRequestLine(error)
        ? targetTooLong
        : { status: 431, detail: "The header section is too large." };
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return { status: 413, detail: "The chunk extensions are too large." };
    case "HPE_INVALID_METHOD":
      return /^[!#$%&'*+.^_`|~\w-]+ \S+ HTTP\/\d/.test(failedLine(error))
        ? { status: 501, detail: "This server does not know the method at any address." }
        : { status: 400, detail: "This is not an HTTP request." };
    case "HPE_INVALID_VERSION":
      return / HTTP\/1\.[01]\b/.test(failedLine(error)) ? syntaxFault(error) : versionNotSupported;
    case "HPE_PAUSED_H2_UPGRADE":
      return versionNotSupported;
    case "HPE_INVALID_HEADER_TOKEN":
      return /^[ \t]/.test(failedLine(error)) ? foldedField : syntaxFault(error);
    case "HPE_INVALID_EOF_STATE":
      return { status: 400, detail: "The connection ended before the request did." };
    default:
      return error.code?.startsWith("HPE_") ? syntaxFault(error) : undefined;
  }
}

const foldedField: Refusal = {
  status: 400,
  detail: "A header field goes on over a second line; folding is not accepted (RFC 9112 §5.2).",
};

function syntaxFault({ reason }: ParserError): Refusal {
  return { status: 400, detail: `The request breaks the syntax of HTTP/1.1: ${reason}.` };
}

/**
 * Whether it was the request line that grew too long, judged by the last packet alone, for that is
 * all there is: did its first line not end before the limit, and does it look like a target?
 */
function overranRequestLine({ rawPacket, bytesParsed = 0 }: ParserError): boolean {
  const [line = ""] = rawPacket?.toString("latin1").split("\r\n", 1) ?? [];
  return line.length >= bytesParsed && /^(?:[A-Z]+ )?[!-~]*(?: HTTP\/1\.\d)?$/.test(line);
}

/** The line in which the parser stopped. */
function failedLine({ rawPacket, bytesParsed = 0 }: ParserError): string {
  const text = rawPacket?.toString("latin1") ?? "";
  const start = text.lastIndexOf("\n", bytesParsed - 1) + 1;
  return text.slice(start).split("\r\n", 1)[0] ?? "";
}
