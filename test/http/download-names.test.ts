// The names that downloads have: of the upload, and those that `?download=` asks for, read by an independent parser.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { parse } from "content-disposition";
import { cleanFileName, writeDisposition } from "../../src/http/headers/content-disposition.ts";
import fc, { anyText } from "../fast-check.ts";
import { newSeed, runs } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { expectProblem } from "./expect.ts";
import { file, form, type Shown } from "./multipart.ts";

let app: TestApp;
let photo: Shown;
before(async () => {
  app = await startApp();
  const sent = form([file("photo", "holiday.png", "x", "image/png")]);
  const made = await app.request("/people", { method: "POST", ...sent });
  ({ photo } = (await made.json()) as { photo: Shown });
});
after(() => app.stop());

const fieldOf = async (query: string, method = "GET"): Promise<string> => {
  const response = await app.request(`${photo.url}?${query}`, { method });
  assert.equal(response.status, 200, query);
  return response.headers.get("content-disposition") ?? "";
};

const asked = (name: string) => fieldOf(`download=${encodeURIComponent(name)}`);

/** What clients can be confused by. */
const piece = fc.oneof(
  anyText(),
  fc.constantFrom(
    '"',
    "\\",
    "/",
    "\r\n",
    "\0",
    "%",
    "%22",
    "%0d%0a",
    "'",
    "(",
    "*",
    ";",
    "=",
    "..",
  ),
  fc.constantFrom("\u202e", "\u2066", "\u2028", "\ufeff", "\u0301", "\uff02", "\uff0f", "\u2025"),
  fc.constantFrom("ß", "é", "e\u0301", "日本", "😀", "ﷺ", "👩‍👩‍👧", ".png", " ", "a".repeat(150)),
);
const names = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join("").toWellFormed());

describe("the name of a download", () => {
  it("is the one that is asked for, or that of the upload", async () => {
    assert.equal(await fieldOf(""), 'inline; filename="holiday.png"');
    for (const query of ["download", "download="])
      assert.equal(await fieldOf(query), 'attachment; filename="holiday.png"');
    assert.equal(await fieldOf("download=a.png"), 'attachment; filename="a.png"');
    assert.equal(await fieldOf("download=a.png", "HEAD"), 'attachment; filename="a.png"');
    assert.equal(await fieldOf("download=a+b%20c.png"), 'attachment; filename="a b c.png"');
    const kept = await asked("Grüße.png");
    assert.equal(kept, "attachment; filename=\"Gru_e.png\"; filename*=UTF-8''Gr%C3%BC%C3%9Fe.png");
  });

  it("has nothing that could deceive or leave a folder", async () => {
    const cleaned: readonly [asked: string, name: string][] = [
      ["../../etc/passwd", "passwd"],
      ["C:\\windows\\a.exe", "a.exe"],
      ["a\r\nX-Evil: 1", "aX-Evil: 1"],
      ["a\0b", "ab"],
      ["gpj.\u202eexe", "gpj.exe"],
      ["..", "holiday.png"],
      ["/", "holiday.png"],
      ["é".repeat(300), "é".repeat(255)],
    ];
    for (const [name, expected] of cleaned)
      assert.equal(parse(await asked(name)).parameters.filename, expected, name);
    // Half of a surrogate pair, which no UTF-8 can be.
    const surrogate = app.request(`${photo.url}?download=a%ED%A0%80`);
    await expectProblem(surrogate, "malformed-request");
  });

  it("is read by a parser as it was written, whatever it is", async () => {
    const property = fc.asyncProperty(names, async (name) => {
      const { type, parameters } = parse(await asked(name));
      assert.equal(type, "attachment");
      assert.equal(parameters.filename, cleanFileName(name) || "holiday.png");
      const known = ["filename", "filename*"];
      assert.ok(Object.keys(parameters).every((key) => known.includes(key)));
    });
    await fc.assert(property, { numRuns: runs(100, 3_000), seed: newSeed("names of downloads") });
  });

  it("has an ASCII name for old clients that is one file name", () => {
    const property = fc.property(names, (name) => {
      const field = writeDisposition("attachment", cleanFileName(name));
      const [, ascii = ""] = /; filename="(.*?)"/.exec(field) ?? [];
      assert.doesNotMatch(ascii, /["%/\\]/);
      assert.match(
        field,
        /^attachment(?:; filename="[ -~]*"(?:; filename\*=UTF-8''[\w!#$&+.^`|~%-]+)?)?$/,
      );
    });
    fc.assert(property, { numRuns: runs(1_000, 100_000), seed: newSeed("names in ASCII") });
  });

  it("is rejected when it is asked for twice, or with another parameter", async () => {
    for (const query of ["download=a&download=b", "download=a&x=1", "Download=a", "download[]=a"])
      await expectProblem(app.request(`${photo.url}?${query}`), "invalid-parameter");
  });
});
