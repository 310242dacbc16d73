// The multipart parser: its result does not depend on how the body is split into chunks.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BodyError } from "../../src/http/body/decoding.ts";
import { maxPartHeaderBytes, readParts } from "../../src/http/body/multipart-stream.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { Chance, generateBody, mutate } from "./multipart-generator.ts";

interface Read {
  readonly disposition: string | undefined;
  readonly content: Buffer;
}

async function* sourceOf(pieces: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

/** The parts, or the message of the error. */
async function read(
  pieces: Iterable<Uint8Array>,
  boundary: string,
): Promise<readonly Read[] | string> {
  const parts: Read[] = [];
  try {
    for await (const { headers, bytes } of readParts(sourceOf(pieces), boundary)) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of bytes) chunks.push(chunk);
      const disposition = headers.get("content-disposition");
      parts.push({ disposition, content: Buffer.concat(chunks) });
    }
    return parts;
  } catch (thrown) {
    if (thrown instanceof BodyError) return thrown.problem.errors?.[0]?.detail ?? "";
    throw thrown;
  }
}

const readText = (text: string, boundary = "b") => read([Buffer.from(text, "latin1")], boundary);
const head = 'Content-Disposition: form-data; name="a"';
const disposition = 'form-data; name="a"';
const one = (content: string) => [{ disposition, content: Buffer.from(content) }];

describe("a multipart body", () => {
  it("that is valid is read exactly, however it is split", async () => {
    const seed = newSeed("multipart parser, valid bodies");
    for (let run = 0; run < runs(250, 20_000); run++) {
      const chance = new Chance(randomNumbers(seed + run));
      const { body, boundary, texts, files } = generateBody(chance);
      const parts = await read(chance.pieces(body, 200), boundary);
      assert.ok(typeof parts !== "string", `seed ${seed + run}: ${parts}`);
      assert.deepEqual(
        parts.map(({ content }) => content.toString("hex")).sort(),
        [
          ...texts.map(([, value]) => Buffer.from(value).toString("hex")),
          ...files.map(({ bytes }) => bytes.toString("hex")),
        ].sort(),
        `seed ${seed + run}`,
      );
    }
  });

  it("that is invalid has one result, however it is split", async () => {
    const seed = newSeed("multipart parser, broken bodies");
    let rejected = 0;
    const count = runs(250, 20_000);
    for (let run = 0; run < count; run++) {
      const chance = new Chance(randomNumbers(seed + run));
      const generated = generateBody(chance);
      const body = mutate(chance, generated);
      const whole = await read([body], generated.boundary);
      const cut = await read(chance.pieces(body, 50), generated.boundary);
      assert.deepEqual(cut, whole, `seed ${seed + run}`);
      if (typeof whole === "string") rejected++;
    }
    assert.ok(rejected > count / 4 && rejected < count, `${rejected} of ${count} were refused`);
  });

  it("may have padding after a boundary, a preamble and an epilogue (RFC 2046 §5.1.1)", async () => {
    for (const [before, padding, ending] of [
      ["", "", ""],
      ["preamble\r\n", " \t ", " \t"],
      ["\r\n", "\t", "\r\nepilogue\r\n--b\r\nX"],
      ["--\r\n-b\r\n\r\n", " ".repeat(8_000), " \r\n"],
    ] as const) {
      const body = `${before}--b${padding}\r\n${head}\r\n\r\nx\r\n--b--${ending}`;
      assert.deepEqual(await readText(body), one("x"), JSON.stringify(body.slice(0, 40)));
    }
  });

  it("may have parts without content, with one or two line ends, or no part at all", async () => {
    assert.deepEqual(await readText(`--b\r\n${head}\r\n\r\n--b--`), one(""));
    assert.deepEqual(await readText(`--b\r\n${head}\r\n\r\n\r\n--b--`), one(""));
    assert.deepEqual(await readText(`--b\r\n${head}\r\n\r\n\r\n\r\n--b--`), one("\r\n"));
    assert.deepEqual(await readText("--b--"), []);
  });

  it("may fold its header lines, and repeat unused headers", async () => {
    const folded = `--b\r\nX: 1\r\nContent-Disposition: form-data;\r\n name="a"\r\nX: 2\r\n\r\n\r\n--b--`;
    assert.deepEqual(await readText(folded), one(""));
  });

  const rejected: readonly (readonly [name: string, body: string, detail: RegExp])[] = [
    ["nothing", "", /ends before the closing boundary/],
    ["no delimiter", "x", /ends before the closing boundary/],
    ["a delimiter within a line", `x--b\r\n${head}\r\n\r\nx--b--`, /ends before/],
    ["a header that does not end", `--b\r\n${head}`, /ends before/],
    ["a header without an empty line", `--b\r\n${head}\r\n--b--\r\n`, /not `name: value`/],
    ["no closing delimiter", `--b\r\n${head}\r\n\r\nx\r\n`, /ends before/],
    [
      "a closing delimiter that is cut",
      `--b\r\n${head}\r\n\r\nx\r\n--b-`,
      /begins with the boundary/,
    ],
    [
      "a longer boundary",
      `--b\r\n${head}\r\n\r\nx\r\n--bc\r\n\r\n--b--`,
      /begins with the boundary/,
    ],
    ["text after the closing delimiter", `--b\r\n${head}\r\n\r\nx\r\n--b--x`, /begins with/],
    ["a part without a header", "--b\r\n\r\nx\r\n--b--", /no header/],
    ["a header line without a colon", "--b\r\nX\r\n\r\n\r\n--b--", /not `name: value`/],
    ["a space before the colon", "--b\r\nX : y\r\n\r\n\r\n--b--", /not `name: value`/],
    ["a NUL in a header", "--b\r\nX: \0\r\n\r\n\r\n--b--", /not `name: value`/],
    ["a bare LF in a header", "--b\r\nX: y\nY: z\r\n\r\n\r\n--b--", /not `name: value`/],
    ["a header that is not UTF-8", "--b\r\nX: \xff\r\n\r\n\r\n--b--", /not UTF-8/],
    ["two dispositions", `--b\r\n${head}\r\n${head}\r\n\r\n\r\n--b--`, /more than one/],
    [
      "a long header line",
      `--b\r\nX: ${"y".repeat(maxPartHeaderBytes)}\r\n\r\n\r\n--b--`,
      /is longer than/,
    ],
    ["many header lines", `--b\r\n${"X: y\r\n".repeat(1_500)}\r\n\r\n--b--`, /is longer than/],
    ["much padding", `--b${" ".repeat(9_000)}\r\n${head}\r\n\r\n\r\n--b--`, /is longer than/],
  ];
  for (const [name, body, detail] of rejected) {
    it(`with ${name} is rejected`, async () => {
      const result = await readText(body);
      assert.ok(typeof result === "string", "it was read");
      assert.match(result, detail);
      const bytes = Buffer.from(body, "latin1");
      const single = Array.from(bytes, (byte) => Uint8Array.of(byte));
      assert.equal(await read(single, "b"), result);
    });
  }

  it("skips what its reader does not read, and closes its source with its reader", async () => {
    let isEnded = false;
    async function* source() {
      try {
        yield Buffer.from(`--b\r\n${head}\r\n\r\none\r\n--b\r\n${head}\r\n\r\ntwo\r\n--b--`);
        await new Promise(() => undefined);
      } finally {
        isEnded = true;
      }
    }
    let count = 0;
    for await (const { headers } of readParts(source(), "b")) {
      assert.equal(headers.get("content-disposition"), disposition);
      if (++count === 2) break;
    }
    assert.equal(isEnded, true);
  });
});
