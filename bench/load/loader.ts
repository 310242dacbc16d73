// Loads one server over raw keep-alive connections and prints what came of it. Argument: a job's file.

import { readFileSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import type { Job, Tally } from "./load.ts";

const file = process.argv[2] ?? "";
const job = JSON.parse(readFileSync(file, "utf8")) as Job;
const { hostname, port } = new URL(job.origin);

// Only root may ask for more than others have. Where Linux compares sessions, theirs count.
try {
  setPriority(job.priority);
  writeFileSync("/proc/self/autogroup", `${job.priority}`);
} catch {}

/** Latencies are counted in steps of 10 µs, up to a minute. */
const stepMs = 0.01;
const latencies = new Uint32Array(60_000 / stepMs);

interface Connection {
  socket: Bun.Socket<Connection> | undefined;
  /** When the current request was sent, or was due to be sent; 0 without a request. */
  startedAt: number;
  /** What is missing of the body; -1 while the head is read, -2 while chunks are read. */
  missing: number;
  head: Buffer | undefined;
  /** The rest of a request that the socket did not take. */
  unsent: Buffer | undefined;
}

let completed = 0;
let wrongStatus = 0;
let firstWrong = "";
let brokenConnections = 0;
let isOver = false;
const idle: Connection[] = [];

const fields = Object.entries(job.headers).map(([name, value]) => `${name}: ${value}\r\n`);
const length = job.body === "" ? "" : `content-length: ${Buffer.byteLength(job.body)}\r\n`;
const rest = `${fields.join("")}${length}\r\n${job.body}`;
const requestOf = (path: string, secret: string | undefined): Buffer => {
  const token = secret === undefined ? "" : `authorization: Bearer ${secret}\r\n`;
  return Buffer.from(
    `${job.method} ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\n${token}${rest}`,
  );
};
const anyOf = <T>(values: readonly T[]): T => values[(Math.random() * values.length) | 0] as T;
const prepared = job.secrets ? [] : job.paths.map((path) => requestOf(path, undefined));
const nextRequest = (): Buffer =>
  job.secrets ? requestOf(anyOf(job.paths), anyOf(job.secrets)) : anyOf(prepared);

function send(connection: Connection, startedAt: number): void {
  connection.startedAt = startedAt;
  connection.missing = -1;
  write(connection, nextRequest());
}

function write(connection: Connection, bytes: Buffer): void {
  const written = connection.socket?.write(bytes) ?? 0;
  connection.unsent = written < bytes.length ? bytes.subarray(Math.max(0, written)) : undefined;
}

/** The length of the last response that came whole and in one packet, and was right. */
let wholeLength = -1;
const digits = Buffer.from(String(job.status));

function receive(connection: Connection, data: Buffer): void {
  // Most responses are as long as the last one, so that its status says all.
  if (
    connection.missing === -1 &&
    data.length === wholeLength &&
    connection.head === undefined &&
    data[9] === digits[0] &&
    data[10] === digits[1] &&
    data[11] === digits[2]
  ) {
    finish(connection);
    return;
  }
  if (connection.missing >= 0) connection.missing -= data.length;
  else if (connection.missing === -1) readHead(connection, data);
  // A chunked body ends so; a packet that ends so by chance is not expected in what is measured.
  else if (data.subarray(-5).equals(lastChunk)) connection.missing = 0;
  if (connection.missing <= 0 && connection.missing > -1) finish(connection);
}

const lastChunk = Buffer.from("0\r\n\r\n");

function readHead(connection: Connection, data: Buffer): void {
  const all = connection.head ? Buffer.concat([connection.head, data]) : data;
  const end = all.indexOf("\r\n\r\n");
  if (end < 0) {
    connection.head = Buffer.from(all);
    return;
  }
  connection.head = undefined;
  const head = all.toString("latin1", 0, end);
  const status = Number(head.slice(9, 12));
  if (status !== job.status) {
    wrongStatus++;
    firstWrong ||= `${status} ${all.toString("latin1", end + 4, end + 204)}`;
  }
  const body = all.length - end - 4;
  const declared = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (status === 304 || status === 204) connection.missing = 0;
  else if (declared !== undefined) connection.missing = Number(declared) - body;
  else connection.missing = all.subarray(-5).equals(lastChunk) && body > 0 ? 0 : -2;
  if (connection.missing === 0 && status === job.status && all === data) wholeLength = data.length;
}

function finish(connection: Connection): void {
  if (isOver) return;
  const now = performance.now();
  const step = ((now - connection.startedAt) / stepMs) | 0;
  const index = Math.min(Math.max(step, 0), latencies.length - 1);
  latencies[index] = (latencies[index] ?? 0) + 1;
  completed++;
  connection.startedAt = 0;
  if (job.perSecond === undefined) {
    send(connection, now);
    return;
  }
  idle.push(connection);
  sendDue();
}

/** Requests that are due are sent as soon as a connection is free; the wait for one counts. */
let beganAt = 0;
let sent = 0;
function sendDue(): void {
  const perMs = (job.perSecond ?? 0) / 1000;
  const now = performance.now();
  const due = (now - beganAt) * perMs;
  while (sent < due) {
    const connection = idle.pop();
    if (connection === undefined) {
      isLate = true;
      return;
    }
    send(connection, isLate ? beganAt + sent / perMs : now);
    sent++;
  }
  isLate = false;
}
/** True while requests were due and no connection was free. */
let isLate = false;

function connect(): Promise<Connection> {
  const connection: Connection = {
    socket: undefined,
    startedAt: 0,
    missing: -1,
    head: undefined,
    unsent: undefined,
  };
  const broken = () => {
    if (!isOver) brokenConnections++;
  };
  return Bun.connect<Connection>({
    hostname,
    port: Number(port),
    data: connection,
    socket: {
      data: (_, data) => receive(connection, data),
      drain: () => connection.unsent && write(connection, connection.unsent),
      close: broken,
      error: broken,
    },
  }).then((socket) => {
    connection.socket = socket;
    return connection;
  });
}

function percentile(share: number): number {
  let left = completed * share;
  for (let step = 0; step < latencies.length; step++) {
    left -= latencies[step] ?? 0;
    if (left <= 0) return (step + 0.5) * stepMs;
  }
  return Number.NaN;
}

const connections = await Promise.all(Array.from({ length: job.connections }, connect));
beganAt = performance.now();
if (job.perSecond === undefined) for (const connection of connections) send(connection, beganAt);
else {
  idle.push(...connections);
  setInterval(sendDue, 1);
}
await Bun.sleep(job.seconds * 1000);
isOver = true;
const endedAt = performance.now();
// Requests without a response count with the time that they have waited, so that a stop is seen.
const waiting = connections.filter(({ startedAt }) => startedAt > 0);
const longestWaitMs = Math.max(0, ...waiting.map(({ startedAt }) => endedAt - startedAt));
const counted = latencies.findLastIndex((count) => count > 0);
const tally: Tally = {
  completed,
  seconds: (endedAt - beganAt) / 1000,
  p50Ms: percentile(0.5),
  p99Ms: percentile(0.99),
  maxMs: Math.max(longestWaitMs, (counted + 1) * stepMs),
  wrongStatus,
  firstWrong,
  brokenConnections,
};
console.log(JSON.stringify(tally));
process.exit(0);
