// What the parser of node:http refuses, in words and with the right status.

import { type Refusal, targetTooLong, versionNotSupported } from "./request.ts";

/** What comes with `clientError`: an error of the parser (llhttp), of a clock or of the socket. */
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
      return endsInKnownVersion(error) ? syntaxFault(error) : versionNotSupported;
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

/** A version we speak, but not followed by CR LF. */
function endsInKnownVersion({ rawPacket, bytesParsed = 0 }: ParserError): boolean {
  return / HTTP\/1\.[01]\n?$/.test(rawPacket?.toString("latin1", 0, bytesParsed) ?? "");
}

/** The line in which the parser stopped. */
function failedLine({ rawPacket, bytesParsed = 0 }: ParserError): string {
  const text = rawPacket?.toString("latin1") ?? "";
  const start = text.lastIndexOf("\n", bytesParsed - 1) + 1;
  return text.slice(start).split("\r\n", 1)[0] ?? "";
}
