// Speaks HTTP/2: requests by a client, and raw frames for what no client would send.

import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectTls, type TLSSocket } from "node:tls";

export interface Http2Response {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** The statuses of interim responses. */
  readonly interim: readonly number[];
  readonly body: string;
}

export interface Http2Client {
  readonly session: ClientHttp2Session;
  request(
    path: string,
    options?: { method?: string; headers?: Record<string, string>; body?: string },
  ): Promise<Http2Response>;
}

export async function openHttp2(port: number): Promise<Http2Client> {
  const session = connect(`https://localhost:${port}`, { rejectUnauthorized: false });
  session.on("error", () => undefined);
  await once(session, "connect");
  return {
    session,
    async request(path, { method = "GET", headers = {}, body } = {}) {
      const stream = session.request({ ":method": method, ":path": path, ...headers });
      const interim: number[] = [];
      stream.on("headers", (fields) => interim.push(Number(fields[":status"])));
      const answered = once(stream, "response");
      if (body === undefined) stream.end();
      else stream.end(body);
      const [fields] = await answered;
      let text = "";
      for await (const chunk of stream) text += chunk;
      return { status: Number(fields[":status"]), headers: fields, interim, body: text };
    },
  };
}

export const frameTypes = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
} as const;

/** A frame of HTTP/2 (RFC 9113 §4.1). */
export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A field without compression (RFC 7541 §6.2.2). */
export const field = (name: string, value: string): Buffer =>
  Buffer.concat([
    Buffer.of(0, name.length),
    Buffer.from(name),
    Buffer.of(value.length),
    Buffer.from(value),
  ]);

/** The header block of a request. */
export const block = (method: string, path: string, ...more: readonly Buffer[]): Buffer =>
  Buffer.concat([
    field(":method", method),
    field(":scheme", "https"),
    field(":path", path),
    field(":authority", "localhost"),
    ...more,
  ]);

export interface Frame {
  readonly type: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export interface RawSession {
  readonly socket: TLSSocket;
  /** Whether the server has closed the connection. */
  readonly isClosed: boolean;
  /** The whole frames so far. */
  frames(): readonly Frame[];
  /** Resolves when the server closes, or when it sends such a frame. */
  until(isThere: (frame: Frame) => boolean): Promise<void>;
  /** Sends these until the server closes, and returns how many it took. */
  flood(count: number, next: (index: number) => Buffer): Promise<number>;
}

/** Opens a connection and sends the preface with empty settings. An unread one does not read answers. */
export async function openRaw(port: number, isUnread = false): Promise<RawSession> {
  const socket = connectTls({
    ...{ port, host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols: ["h2"] },
  });
  let received: Buffer = Buffer.alloc(0);
  let isClosed = false;
  const listeners = new Set<() => void>();
  const wake = () => {
    for (const listener of listeners) listener();
  };
  const close = () => {
    isClosed = true;
    wake();
  };
  socket.on("error", close).on("close", close).on("end", close);
  await once(socket, "secureConnect");
  if (isUnread) socket.pause();
  else
    socket.on("data", (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      wake();
    });
  socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  socket.write(frame(frameTypes.settings, 0, 0));
  const session: RawSession = {
    socket,
    get isClosed() {
      return isClosed;
    },
    frames: () => readFrames(received),
    until: (isThere) =>
      new Promise((resolve) => {
        const look = () => {
          if (!isClosed && !readFrames(received).some(isThere)) return;
          listeners.delete(look);
          resolve();
        };
        listeners.add(look);
        look();
      }),
    async flood(count, next) {
      let index = 0;
      for (; index < count && !isClosed; index++) {
        const isFull = !socket.write(next(index));
        if (isFull || index % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      return index;
    },
  };
  return session;
}

function readFrames(bytes: Buffer): readonly Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at + 9 <= bytes.length; ) {
    const end = at + 9 + bytes.readUIntBE(at, 3);
    if (end > bytes.length) break;
    const stream = bytes.readUInt32BE(at + 5);
    frames.push({ type: bytes[at + 3] ?? 0, stream, payload: bytes.subarray(at + 9, end) });
    at = end;
  }
  return frames;
}
