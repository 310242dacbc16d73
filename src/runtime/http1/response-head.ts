// Writes the header section of a response.

import { STATUS_CODES } from "node:http";
import type { ConnectionOption } from "./field-section.ts";

/** What is sent after the header fields of the application. */
export interface Framing {
  /** The length of the body; undefined when it is not known, or when there is none. */
  readonly bytes: number | undefined;
  readonly isChunked: boolean;
  readonly connection: ConnectionOption | undefined;
}

/** With the empty line at the end of the section. */
export function framingLines({ bytes, isChunked, connection }: Framing): string {
  const line = connection === undefined ? "" : `Connection: ${connection}\r\n`;
  if (isChunked) return `${line}Transfer-Encoding: chunked\r\n\r\n`;
  return bytes === undefined ? `${line}\r\n` : `${line}Content-Length: ${bytes}\r\n\r\n`;
}

const statusLines: string[] = [];

export function statusLine(status: number): string {
  statusLines[status] ??= `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n`;
  return statusLines[status];
}

let second = 0;
let line = "";

/** Changes once a second. */
export function dateLine(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now !== second) {
    second = now;
    line = `Date: ${new Date(now * 1000).toUTCString()}\r\n`;
  }
  return line;
}
