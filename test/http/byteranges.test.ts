// Several ranges of a file in one response, multipart/byteranges.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { platform } from "node:os";
import { after, before, describe, it } from "node:test";
import { writeByteRanges } from "../../src/http/files/byteranges.ts";
import { openDisk } from "../../src/store/disk/disk.ts";
import fc from "../fast-check.ts";
import { openConnection } from "../runtime/raw-connection.ts";
import { newSeed, runs } from "../seeds.ts";
import { countOpen, saveFile } from "../store/disk/file-helpers.ts";
import { inDirectory } from "../store/sqlite/test-directory.ts";
import { startApp, type TestApp } from "./app.ts";
import { file, form, type Shown } from "./multipart.ts";

let app: TestApp;
let photo: Shown;
const bytes = randomBytes(300_000);
before(async () => {
  app = await startApp();
  const sent = form([file("photo", "a.png", bytes, "image/png")]);
  const made = await app.request("/people", { method: "POST", ...sent });
  ({ photo } = (await made.json()) as { photo: Shown });
});
after(() => app.stop());

const get = (range: string, fields: Readonly<Record<string, string>> = {}) =>
  app.request(photo.url, { headers: { range, ...fields } });

interface Part {
  readonly start: number;
  readonly bytes: Buffer;
}

/** Reads the body by its grammar (RFC 2046 §5.1.1), and by the lengths that the parts say. */
async function partsOf(response: Response): Promise<readonly Part[]> {
  const type = response.headers.get("content-type") ?? "";
  const [, boundary] = /^multipart\/byteranges; boundary=([\w-]{1,70})$/.exec(type) ?? [];
  assert.ok(boundary, type);
  const body = Buffer.from(await response.arrayBuffer());
  const length = response.headers.get("content-length");
  assert.equal(length, `${body.length}`);
  const parts: Part[] = [];
  for (let at = 0; ; ) {
    const isFirst = parts.length === 0;
    const dashes: string = `${isFirst ? "" : "\r\n"}--${boundary}`;
    assert.equal(body.toString("latin1", at, at + dashes.length), dashes);
    at += dashes.length;
    if (body.toString("latin1", at) === "--\r\n") return parts;
    const headEnd = body.indexOf("\r\n\r\n", at) + 4;
    const head = body.toString("latin1", at, headEnd);
    const [, start, last, size] =
      /^\r\nContent-Type: image\/png\r\nContent-Range: bytes (\d+)-(\d+)\/(\d+)\r\n\r\n$/.exec(
        head,
      ) ?? [];
    assert.equal(Number(size), bytes.length, head);
    at = headEnd + Number(last) + 1 - Number(start);
    parts.push({ start: Number(start), bytes: body.subarray(headEnd, at) });
  }
}

const bounds = (parts: readonly Part[]) =>
  parts.map((part) => [part.start, part.start + part.bytes.length]);

describe("several ranges", () => {
  it("are parts of one body, in the order in which they were asked for", async () => {
    const response = await get("bytes=200000-299997, 0-9 ,-1,100000-100000");
    assert.equal(response.status, 206);
    assert.equal(response.headers.get("content-range"), null);
    assert.equal(response.headers.get("etag"), `"${photo.sha256}"`);
    const expected = [200_000, 0, 299_999, 100_000];
    assert.deepEqual(
      (await partsOf(response)).map(({ start }) => start),
      expected,
    );
  });

  it("that overlap or touch become one", async () => {
    const response = await get("bytes=50-59,10-19,20-29,15-24,0-4");
    assert.deepEqual(bounds(await partsOf(response)), [
      [0, 5],
      [10, 30],
      [50, 60],
    ]);
  });

  it("return what they name, and each byte at most once", async () => {
    const position = fc.oneof(fc.nat(30), fc.nat(bytes.length + 10));
    const range = fc.oneof(
      fc
        .tuple(position, position)
        .map(([one, other]) => `${Math.min(one, other)}-${Math.max(one, other)}`),
      position.map((start) => `${start}-`),
      position.map((length) => `-${length}`),
    );
    const property = fc.asyncProperty(
      fc.array(range, { minLength: 2, maxLength: 10 }),
      async (asked) => {
        const response = await get(`bytes=${asked.join(",")}`);
        if (response.headers.has("content-range") || response.status === 416)
          return void (await response.body?.cancel());
        const parts = await partsOf(response);
        assert.ok(parts.length > 1);
        for (const part of parts)
          assert.ok(part.bytes.equals(bytes.subarray(part.start, part.start + part.bytes.length)));
        const sorted = bounds(parts).toSorted(([one = 0], [other = 0]) => one - other);
        for (const [index, [start = 0]] of sorted.entries())
          assert.ok(index === 0 || start > (sorted[index - 1]?.[1] ?? 0), "two parts overlap");
        assert.deepEqual(sorted, mergedBounds(asked));
      },
    );
    await fc.assert(property, { numRuns: runs(40, 3_000), seed: newSeed("byte ranges") });
  });

  it("are ignored when they are more than ten, or when the file is another", async () => {
    const eleven = Array.from({ length: 11 }, (_, index) => `${index * 10}-${index * 10}`);
    for (const response of [
      await get(`bytes=${eleven.join(",")}`),
      await get("bytes=0-0,5-5", { "if-range": '"other"' }),
    ]) {
      assert.equal(response.status, 200);
      assert.equal((await response.arrayBuffer()).byteLength, bytes.length);
    }
    const same = await get("bytes=0-0,5-5", { "if-range": `"${photo.sha256}"` });
    assert.equal((await partsOf(same)).length, 2);
    const ten = await get(`bytes=${eleven.slice(1).join(",")}`);
    assert.equal((await partsOf(ten)).length, 10);
  });

  it("leave the connection open for the next request, and may be left unread", async () => {
    const ask = (range: string) =>
      `GET ${photo.url} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.admin}\r\nRange: bytes=${range}\r\n\r\n`;
    const wire = await openConnection(app.port);
    for (let round = 0; round < 3; round++) {
      wire.write(ask("0-9,100-109"));
      assert.equal((await wire.response())?.status, 206);
    }
    wire.write(ask("0-149999,150001-"));
    wire.destroy();
    assert.equal((await partsOf(await get("bytes=0-0,2-2"))).length, 2);
  });
});

describe("a body of several ranges that is not read to its end", () => {
  it("leaves no file open", { skip: platform() !== "linux" }, () =>
    inDirectory(async (folder) => {
      const files = openDisk(folder);
      const { key, size } = await saveFile(files, bytes);
      const ranges = [0, 1, 2].map((index) => ({ start: index * 1_000, end: index * 1_000 + 10 }));
      for (let chunks = 0; chunks < 8; chunks++) {
        const { body } = writeByteRanges(ranges, { type: "image/png", size }, ({ start, end }) =>
          files.read(key, start, end),
        );
        const reader = body.getReader();
        for (let count = 0; count < chunks; count++) await reader.read();
        await reader.cancel();
        assert.equal(countOpen(folder), 0, `after ${chunks} chunks`);
      }
    }),
  );
});

/** The bytes that the ranges name, byte by byte. */
function mergedBounds(asked: readonly string[]): readonly (readonly number[])[] {
  const { length } = bytes;
  const edges = asked.flatMap((range) => {
    const [first = "", last = ""] = range.split("-");
    const start = first === "" ? Math.max(0, length - Number(last)) : Number(first);
    const end = first === "" || last === "" ? length : Math.min(length, Number(last) + 1);
    return start < end ? [[start, end] as const] : [];
  });
  const isNamed = Buffer.alloc(length + 1);
  for (const [start, end] of edges) isNamed.fill(1, start, end);
  const found: number[][] = [];
  for (let at = isNamed.indexOf(1); at >= 0; at = isNamed.indexOf(1, at)) {
    const end = isNamed.indexOf(0, at);
    found.push([at, end]);
    at = end;
  }
  return found;
}
