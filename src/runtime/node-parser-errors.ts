// Maps errors of the node:http parser to a status and a detail.

import {
  endedEarly,
  extensionsTooLarge,
  foldedField,
  type HttpError,
  notHttp,
  requestTimedOut,
  targetTooLong,
  unknownMethod,
  versionNotSupported,
} from "./http1/http-errors.ts";

/** The error of a `clientError` event: from the parser (llhttp), a timeout or the socket. */
export interface ParserError extends Error {
  readonly code?: string;
  readonly reason?: string;
  readonly bytesParsed?: number;
  readonly rawPacket?: Buffer;
}

/** Returns undefined for an error of the socket, because no response can be sent. */
export function httpErrorOf(error: ParserError): HttpError | undefined {
  switch (error.code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return requestTimedOut;
    case "HPE_HEADER_OVERFLOW":
      return isRequestLineTooLong(error)
        ? targetTooLong
        : { status: 431, detail: "The header section is too large." };
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return extensionsTooLarge;
    case "HPE_INVALID_METHOD":
      return /^[!#$%&'*+.^_`|~\w-]+ \S+ HTTP\/\d/.test(failedLine(error)) ? unknownMethod : notHttp;
    case "HPE_INVALID_VERSION":
      return endsInKnownVersion(error) ? syntaxError(error) : versionNotSupported;
    case "HPE_PAUSED_H2_UPGRADE":
      return versionNotSupported;
    case "HPE_INVALID_HEADER_TOKEN":
      return /^[ \t]/.test(failedLine(error)) ? foldedField : syntaxError(error);
    case "HPE_INVALID_EOF_STATE":
      return endedEarly;
    default:
      return error.code?.startsWith("HPE_") ? syntaxError(error) : undefined;
  }
}

function syntaxError({ reason }: ParserError): HttpError {
  return { status: 400, detail: `The request is not valid HTTP/1.1: ${reason}.` };
}

/**
 * Whether the request line is too long. Only the last packet is known: its first line must reach the
 * limit and look like a request target.
 */
function isRequestLineTooLong({ rawPacket, bytesParsed = 0 }: ParserError): boolean {
  const [line = ""] = rawPacket?.toString("latin1").split("\r\n", 1) ?? [];
  return line.length >= bytesParsed && /^(?:[A-Z]+ )?[!-~]*(?: HTTP\/1\.\d)?$/.test(line);
}

/** A supported version that is not followed by CR LF. */
function endsInKnownVersion({ rawPacket, bytesParsed = 0 }: ParserError): boolean {
  return / HTTP\/1\.[01]\n?$/.test(rawPacket?.toString("latin1", 0, bytesParsed) ?? "");
}

/** The line at which the parser stopped. */
function failedLine({ rawPacket, bytesParsed = 0 }: ParserError): string {
  const text = rawPacket?.toString("latin1") ?? "";
  const start = text.lastIndexOf("\n", bytesParsed - 1) + 1;
  return text.slice(start).split("\r\n", 1)[0] ?? "";
}
