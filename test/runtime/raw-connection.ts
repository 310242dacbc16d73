// Sends bytes over a raw socket and parses HTTP/1.1 responses, for what no client library would send.

import { once } from "node:events";
import { connect as open, type Socket } from "node:net";
import { connect as openTls } from "node:tls";
import { passTurns } from "../turns-of.ts";

export interface RawResponse {
  readonly status: number;
  readonly reason: string;
  /** Every field line in order, names as sent. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** The same by lower-case name; repeated lines joined with ", ". */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  /** `bytes` as UTF-8. */
  readonly body: string;
}

export interface SendOptions {
  /** Send FIN after the last byte. */
  readonly halfClose?: boolean;
  /** How many final responses to wait for; 1xx are listed but not counted. */
  readonly answers?: number;
  /** The requests are HEAD, so the responses have no body. */
  readonly head?: boolean;
}

export interface SendResult {
  /** In order, 1xx included. */
  readonly responses: readonly RawResponse[];
  /** Whether the server closed the connection. */
  readonly closed: boolean;
}

/**
 * Sends the segments one by one, each in its own packet to a server in this process, and collects the
 * responses. After them it waits for the close that the last one announces. Without one, it gives a server
 * in this process turns of the event loop, in which it could close or send more.
 */
export async function send(
  port: number,
  segments: string | Uint8Array | readonly (string | Uint8Array)[],
  options: SendOptions = {},
): Promise<SendResult> {
  const wire = await openConnection(port, { head: options.head ?? false });
  const list =
    typeof segments === "string" || segments instanceof Uint8Array ? [segments] : segments;
  for (const [index, segment] of list.entries()) {
    if (index > 0) await passTurns();
    wire.write(segment);
  }
  if (options.halfClose) wire.halfClose();

  const responses: RawResponse[] = [];
  for (let wanted = options.answers ?? 1; wanted > 0; ) {
    const response = await wire.response();
    if (response === undefined) break;
    responses.push(response);
    if (response.status >= 200) wanted--;
  }
  if (responses.at(-1)?.headers.connection === "close") await wire.untilClosed();
  else await passTurns();
  responses.push(...wire.rest());
  wire.destroy();
  return { responses, closed: wire.closed };
}

/** An open connection, for tests in which the next bytes depend on a response. */
export interface RawConnection {
  write(bytes: string | Uint8Array): void;
  halfClose(): void;
  /** The next response, 1xx included; undefined when the server closes. */
  response(): Promise<RawResponse | undefined>;
  /** Complete responses that were not awaited. */
  rest(): readonly RawResponse[];
  /** Resolves when the server closes. */
  untilClosed(): Promise<void>;
  /** Whether the server has closed the connection. */
  readonly closed: boolean;
  destroy(): void;
  /** Closes with RST instead of FIN. */
  reset(): void;
}

/** Over TLS, with any certificate, from this address of the machine. */
export async function openTlsConnection(port: number, from: string): Promise<RawConnection> {
  const plain = open({ port, host: "127.0.0.1", localAddress: from, noDelay: true });
  await once(plain, "connect");
  const options = { rejectUnauthorized: false, servername: "localhost" };
  const socket = openTls({ socket: plain, ALPNProtocols: ["http/1.1"], ...options });
  await once(socket, "secureConnect");
  return wrapSocket(socket, false);
}

export async function openConnection(
  port: number,
  options: { head?: boolean } = {},
): Promise<RawConnection> {
  const socket = open({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
  await once(socket, "connect");
  return wrapSocket(socket, options.head ?? false);
}

export function wrapSocket(socket: Socket, head: boolean): RawConnection {
  let received: Buffer = Buffer.alloc(0);
  let closed = false;
  const waiting: (() => void)[] = [];
  const wake = () => {
    for (const go of waiting.splice(0)) go();
  };

  socket.on("data", (chunk: string | Buffer) => {
    received = Buffer.concat([received, Buffer.from(chunk as Buffer)]);
    wake();
  });
  const close = () => {
    closed = true;
    wake();
  };
  socket.on("end", close);
  socket.on("close", close);
  // A reset is a close too; what was received before it still counts.
  socket.on("error", close);

  const take = (): RawResponse | undefined => {
    const parsed = parse(received, head, closed);
    if (parsed === undefined) return undefined;
    received = received.subarray(parsed.length);
    return parsed.response;
  };
  /** Until something arrives, or the server closes. */
  const untilEvent = (): Promise<void> =>
    new Promise((resolve) => {
      waiting.push(resolve);
    });

  return {
    write: (bytes) => {
      socket.write(bytes);
    },
    halfClose: () => {
      socket.end();
    },
    async response() {
      let response = take();
      while (response === undefined && !closed) {
        await untilEvent();
        response = take();
      }
      return response;
    },
    rest() {
      const responses: RawResponse[] = [];
      for (let next = take(); next !== undefined; next = take()) responses.push(next);
      return responses;
    },
    async untilClosed() {
      while (!closed) await untilEvent();
    },
    get closed() {
      return closed;
    },
    destroy: () => {
      socket.destroy();
    },
    reset: () => {
      socket.resetAndDestroy();
    },
  };
}

/** The first complete response in the bytes and how many bytes it takes; undefined if there is none. */
function parse(
  bytes: Buffer,
  head: boolean,
  closed: boolean,
): { response: RawResponse; length: number } | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const [statusLine = "", ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const status = /^HTTP\/1\.1 (\d{3}) ?(.*)$/.exec(statusLine);
  if (status === null) throw new Error(`not a status line: ${JSON.stringify(statusLine)}`);

  const fields = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  const headers: Record<string, string> = {};
  for (const [name, value] of fields) {
    const key = name.toLowerCase();
    headers[key] = key in headers ? `${headers[key]}, ${value}` : value;
  }

  const code = Number(status[1]);
  const start = headEnd + 4;
  const bodiless = head || code < 200 || code === 204 || code === 304;
  const content = bodiless
    ? { bytes: Buffer.alloc(0), length: 0 }
    : readContent(bytes.subarray(start), headers, closed);
  if (content === undefined) return undefined;
  return {
    response: {
      status: code,
      reason: status[2] ?? "",
      fields,
      headers,
      bytes: content.bytes,
      body: content.bytes.toString("utf8"),
    },
    length: start + content.length,
  };
}

function readContent(
  bytes: Buffer,
  headers: Readonly<Record<string, string>>,
  closed: boolean,
): { bytes: Buffer; length: number } | undefined {
  if (headers["transfer-encoding"] === "chunked") return readChunks(bytes);
  const declared = headers["content-length"];
  if (declared === undefined) return closed ? { bytes, length: bytes.length } : undefined;
  const length = Number(declared);
  return bytes.length < length ? undefined : { bytes: bytes.subarray(0, length), length };
}

function readChunks(bytes: Buffer): { bytes: Buffer; length: number } | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    const start = lineEnd + 2;
    if (bytes.length < start + size + 2) return undefined;
    chunks.push(bytes.subarray(start, start + size));
    at = start + size + 2;
    if (size === 0) return { bytes: Buffer.concat(chunks), length: at };
  }
}
