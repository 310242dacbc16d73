// Request targets in every spelling, over raw sockets: each addresses what it says, or is rejected.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { wrongName } from "../../src/model/file-fields.ts";
import { isCollectionName, isResourceId } from "../../src/model/id.ts";
import { openConnection, type RawResponse } from "../runtime/raw-connection.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";

const collections = ["dots", "x", "y"];
const ids = ["x", "y", "a.b", "dots"];

/** Names, dot segments, backslashes and slashes, as they are and percent-encoded once or twice. */
const segments = [
  ...["dots", "x", "y", "a.b", "%64ots", "%78", "a%2eb", "a%2Eb"],
  ...[".", "..", "%2e", "%2E", ".%2e", "%2e.", "%2E%2e", "%2e%2E"],
  ...["...", "..;", ".;x", "..x", "x..", "%2e%2e%2e", "%252e%252e", "%2e%2e%3b"],
  ...["\\", "..\\", "\\..", "..\\y", "x\\..\\y", "x\\y", "dots\\x", "%zz\\..\\dots"],
  ...["%5c", "..%5cy", "x%5c..%5cy", "%2f", "x%2fy", "..%2fy", "%2e%2e%2fy", "%2F..%2Fdots"],
  ...["", "", "%00", "%zz", "%", "%2", "-", "tokens", "%2d"],
];

const origins = ["", "", "", "http://localhost", "HTTP://localhost", "http://127.0.0.1:80"];

/** What a target addresses, from RFC 3986 alone and without any resolution. */
type Meaning =
  | "malformed"
  | "nothing"
  | { readonly slashed: string }
  | { readonly collection: string; readonly id?: string; readonly file?: string };

function meaningOf(target: string): Meaning {
  const [path = ""] = target.replace(/^https?:\/\/[^/?]*/i, "").split("?", 1);
  if (path.includes("\\")) return "malformed";
  const parts = path.slice(1).split("/");
  if (parts.some((part) => /^(?:\.|%2e){1,2}$/i.test(part))) return "malformed";
  const decoded = parts.map(decode);
  if (decoded.includes(undefined)) return "malformed";
  if (path.length > 1 && path.endsWith("/") && !path.includes("//"))
    return { slashed: path.slice(0, -1) };
  if (parts.includes("") || parts.length > 3 || parts[0] === "-") return "nothing";
  const [collection = "", id, file] = decoded;
  if (!isCollectionName(collection)) return "nothing";
  if (id === undefined) return { collection };
  if (!isResourceId(id)) return "nothing";
  if (file === undefined) return { collection, id };
  return wrongName(file) === undefined ? { collection, id, file } : "nothing";
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

let app: TestApp;
/** What there must be: the mark of each resource, and the digest of each file. */
type State = Map<string, number | string>;
const expected: State = new Map();
const bodyWith = (mark: number): string => `{"mark":${mark}}`;

before(async () => {
  app = await startApp();
  for (const collection of collections) {
    for (const id of ids) await put(collection, id, 0);
  }
});
after(() => app.stop());

async function put(collection: string, id: string, mark: number): Promise<void> {
  const url = `/${collection}/${id}`;
  const headers = { "content-type": "application/json" };
  const { status } = await app.request(url, { method: "PUT", headers, body: bodyWith(mark) });
  assert.ok(status === 200 || status === 201, `${status}`);
  forget(`${collection}/${id}`);
  expected.set(`${collection}/${id}`, mark);
}

async function send(method: string, target: string, mark: number): Promise<RawResponse> {
  const body = method === "PUT" ? bodyWith(mark) : "";
  const head = [
    `${method} ${target} HTTP/1.1`,
    "Host: localhost",
    `Authorization: Bearer ${app.admin}`,
    ...(body === "" ? [] : ["Content-Type: application/json", `Content-Length: ${body.length}`]),
    "Connection: close",
  ];
  const wire = await openConnection(app.port, { head: method === "HEAD" });
  wire.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  const answer = await wire.response();
  wire.destroy();
  assert.ok(answer !== undefined, `no answer to ${method} ${target}`);
  return answer;
}

/** Every resource and file there is. */
async function state(): Promise<State> {
  const found: State = new Map();
  for (const collection of collections) {
    const headers = { authorization: `Bearer ${app.admin}` };
    const request = new Request(`http://localhost/${collection}?limit=1000`, { headers });
    const { data } = (await (await app.direct(request)).json()) as {
      data: { id: string; mark: number; [member: string]: unknown }[];
    };
    for (const { id, mark, ...members } of data) {
      found.set(`${collection}/${id}`, mark);
      for (const [name, file] of Object.entries(members))
        if (isFile(file)) found.set(`${collection}/${id}/${name}`, file.sha256);
    }
  }
  return found;
}

const isFile = (value: unknown): value is { readonly sha256: string } =>
  typeof value === "object" && value !== null && "sha256" in value;

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

const sorted = (map: State) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));

async function check(method: string, target: string, mark: number): Promise<void> {
  const words = `${method} ${target}`;
  const meaning = meaningOf(target);
  const { status, headers } = await send(method, target, mark);
  if (meaning === "malformed") {
    assert.equal(status, 400, words);
  } else if (meaning === "nothing") {
    // OPTIONS returns what an address supports, whether something exists there or not.
    const isTold = method === "OPTIONS" && status === 204;
    assert.ok(isTold || [400, 404, 405].includes(status), `${words}: ${status}`);
  } else if ("slashed" in meaning) {
    if (method === "OPTIONS") assert.notEqual(status, 308, words);
    else {
      assert.equal(status, 308, words);
      assert.equal(headers.location, meaning.slashed, words);
    }
  } else if (meaning.id !== undefined) {
    const resource = `${meaning.collection}/${meaning.id}`;
    const key = meaning.file === undefined ? resource : `${resource}/${meaning.file}`;
    assert.equal(status, statusOf(method, key, resource), words);
    if (method === "PUT" || method === "DELETE") forget(key);
    if (method === "PUT" && status < 300)
      expected.set(key, key === resource ? mark : digest(bodyWith(mark)));
  }
  assert.deepEqual(sorted(await state()), sorted(expected), words);
}

/** A file can be sent to a resource that exists. */
function statusOf(method: string, key: string, resource: string): number {
  const isThere = expected.has(key);
  if (method === "OPTIONS") return 204;
  if (method === "PUT" && key !== resource && !expected.has(resource)) return 404;
  if (method === "PUT" && isThere) return key === resource ? 200 : 204;
  if (method === "PUT") return 201;
  if (!isThere) return 404;
  return method === "DELETE" ? 204 : 200;
}

/** A resource that is replaced or removed loses its files. */
function forget(key: string): void {
  for (const other of expected.keys())
    if (other === key || other.startsWith(`${key}/`)) expected.delete(other);
}

describe("a request target", () => {
  it("addresses exactly what it says, or is rejected, in every spelling and with every method", async () => {
    const random = randomNumbers(newSeed("targets"));
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
    for (let run = 1; run <= runs(120, 20_000); run++) {
      const depth = 1 + Math.floor(random() * 4);
      const start = pick(["dots/", "dots/", "dots/x/", "x/"]);
      const path = Array.from({ length: depth }, () => pick(segments)).join("/");
      const end = pick(["", "", "", "/", "?", "/."]);
      const target = `${pick(origins)}/${start}${path}${end}`;
      await check(pick(["GET", "HEAD", "PUT", "DELETE", "OPTIONS"]), target, run);
      // What was deleted comes back, so that there is something to hit.
      if (expected.size < 8) {
        for (const id of ids) await put("dots", id, run);
      }
    }
  });

  it("with a dot segment or a backslash is rejected at every depth", async () => {
    const climbs = [".", "..", "%2e", "%2E%2e", ".%2E", "x\\..", "..\\x", "\\"];
    for (const climb of climbs) {
      for (const target of [
        `/${climb}`,
        `/${climb}/dots`,
        `/dots/${climb}`,
        `/dots/${climb}/`,
        `/dots/x/${climb}`,
        `/dots/x/${climb}/`,
        `/dots/x/${climb}/y`,
        `/dots/x/${climb}/y/`,
        `/x/${climb}/dots/y`,
        `/dots/a/b/${climb}/${climb}/y`,
        `http://localhost/dots/${climb}/y`,
        `/dots/${climb}/y?`,
        `/-/${climb}/dots/y`,
      ]) {
        for (const method of ["GET", "DELETE"]) await check(method, target, 0);
      }
    }
  });
});
