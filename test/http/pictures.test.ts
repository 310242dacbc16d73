// Pictures: the declared sizes, upright and without metadata, and what broken pictures and bombs get.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import sharp, { type Metadata } from "sharp";
import { assemble } from "../../src/server/app.ts";
import { type Config, readConfig } from "../../src/server/config.ts";
import { createLog } from "../../src/server/log.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { itLong } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { answerOf, assertProblem } from "./expect.ts";
import { filesIn, hashOf } from "./multipart.ts";
import { broken, flag, odd, turned, withLargeComments } from "./picture-samples.ts";

let app: TestApp;
let client: Client;
let data: string;
before(async () => {
  data = await mkdtemp(join(tmpdir(), "restante-"));
  app = await startApp({ data });
  client = new Client(app);
  const sizes = [
    { width: 16, height: 16 },
    { width: 10 },
    { height: 5 },
    { width: 400, height: 400 },
  ];
  await define("photos", { signedUrls: true, pictures: { sizes } });
});
after(async () => {
  await app.stop();
  await rm(data, { recursive: true, force: true });
});

async function define(name: string, definition: unknown): Promise<void> {
  const { status, body } = await client.put(`/-/collections/${name}`, definition);
  assert.ok(status < 300, body);
}

/** Returns the URL of the file of a new resource. */
async function upload(bytes: Buffer, type = "image/png", collection = "photos"): Promise<string> {
  const headers = {
    "content-type": type,
    "content-disposition": 'attachment; filename="flag.png"',
  };
  const body = new Uint8Array(bytes);
  const response = await app.request(`/${collection}`, { method: "POST", headers, body });
  assert.equal(response.status, 201, await response.clone().text());
  return ((await response.json()) as { file: { url: string } }).file.url;
}

type Fields = Readonly<Record<string, string>>;
const get = (url: string, headers: Fields = {}) => app.request(url, { headers });

async function bytesOf(url: string): Promise<Buffer> {
  const response = await get(url);
  assert.equal(response.status, 200, response.status === 200 ? "" : await response.text());
  return Buffer.from(await response.arrayBuffer());
}

const infoOf = async (url: string): Promise<Metadata> => sharp(await bytesOf(url)).metadata();

/** The colour at a place between 0 and 1. */
async function colourAt(picture: Buffer, x: number, y: number): Promise<readonly number[]> {
  const { data: pixels, info } = await sharp(picture).raw().toBuffer({ resolveWithObject: true });
  const [column, row] = [Math.floor(x * info.width), Math.floor(y * info.height)];
  const at = (row * info.width + column) * info.channels;
  return [...pixels.subarray(at, at + info.channels)];
}

const isNear = (one: readonly number[], other: readonly number[]): boolean =>
  other.every((value, index) => Math.abs(value - (one[index] ?? -999)) < 40);

/** Upright: red and blue above, white below. */
async function assertFlag(picture: Buffer): Promise<void> {
  const places: readonly [number, number, readonly number[]][] = [
    [0.2, 0.2, [255, 0, 0]],
    [0.8, 0.2, [0, 0, 255]],
    [0.2, 0.8, [255, 255, 255]],
    [0.8, 0.8, [255, 255, 255]],
  ];
  for (const [x, y, colour] of places) {
    const found = await colourAt(picture, x, y);
    assert.ok(isNear(found, colour), `${x}, ${y}: ${found} instead of ${colour}`);
  }
}

describe("a picture", () => {
  it("has the declared size, with each way to fit it", async () => {
    const url = await upload(await flag().png().toBuffer());
    const expected: readonly [parameters: string, width: number, height: number][] = [
      ["width=16&height=16", 16, 16],
      ["width=16&height=16&fit=cover", 16, 16],
      ["width=16&height=16&fit=contain", 16, 16],
      ["width=16&height=16&fit=fill", 16, 16],
      ["width=16&height=16&fit=inside", 16, 8],
      ["width=400&height=400&fit=inside", 40, 20],
      ["width=400&height=400", 400, 400],
      ["width=10", 10, 5],
      ["height=5", 10, 5],
    ];
    for (const [parameters, width, height] of expected) {
      const info = await infoOf(`${url}?${parameters}`);
      assert.deepEqual([info.width, info.height, info.format], [width, height, "png"], parameters);
    }
    await assertFlag(await bytesOf(`${url}?width=16&height=16&fit=fill`));
  });

  it("has the format of the original, or the one that is asked for, in its type and name", async () => {
    const url = await upload(await flag().ensureAlpha(0).png().toBuffer());
    for (const format of ["jpeg", "png", "webp", "avif"]) {
      const { headers } = await get(`${url}?width=10&format=${format}`);
      assert.equal(headers.get("content-type"), `image/${format}`);
      const extension = format === "jpeg" ? "jpg" : format;
      const disposition = `inline; filename="flag.${extension}"`;
      assert.equal(headers.get("content-disposition"), disposition);
      const info = await infoOf(`${url}?width=10&format=${format}`);
      assert.equal(info.format, format === "avif" ? "heif" : format);
    }
    // What is transparent becomes white where there is no transparency.
    const jpeg = await bytesOf(`${url}?width=10&format=jpeg`);
    assert.ok(isNear(await colourAt(jpeg, 0.1, 0.1), [255, 255, 255]));
  });

  it("is upright whatever its EXIF orientation is, and has no metadata", async () => {
    for (let orientation = 1; orientation <= 8; orientation++) {
      const original = await turned(orientation);
      assert.ok(original.includes("Exif") && original.includes("somebody"));
      const url = await upload(original, "image/jpeg");
      const picture = await bytesOf(`${url}?width=400&height=400&fit=inside`);
      const info = await sharp(picture).metadata();
      assert.deepEqual([info.width, info.height, info.orientation], [40, 20, undefined]);
      assert.ok(info.exif === undefined && info.xmp === undefined && info.iptc === undefined);
      assert.ok(!picture.includes("Exif") && !picture.includes("somebody"));
      await assertFlag(picture);
    }
  });

  it("is rendered from every common kind of picture", async () => {
    for (const [kind, make] of Object.entries(odd)) {
      const url = await upload(await make());
      const info = await infoOf(`${url}?width=16&height=16`);
      assert.deepEqual([info.width, info.height, info.pages ?? 1], [16, 16, 1], kind);
      assert.equal(info.depth, "uchar", kind);
    }
  });

  it("has an ETag of its own, and answers conditions, HEAD and ranges as a file does", async () => {
    const url = `${await upload(await flag().png().toBuffer())}?width=16&height=16`;
    const whole = await get(url);
    const bytes = Buffer.from(await whole.arrayBuffer());
    const etag = `"${hashOf(bytes)}"`;
    assert.equal(whole.headers.get("etag"), etag);
    assert.equal(whole.headers.get("cache-control"), "private, no-cache");
    assert.equal((await get(url, { "if-none-match": etag })).status, 304);
    assert.equal((await get(url, { "if-none-match": '"other"' })).status, 200);
    assertProblem(await answerOf(get(url, { "if-match": '"other"' })), "precondition-failed");
    const head = await app.request(url, { method: "HEAD" });
    assert.equal(head.headers.get("content-length"), `${bytes.length}`);
    const part = await get(url, { range: "bytes=2-9" });
    assert.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(2, 10));
    assert.equal(part.headers.get("content-range"), `bytes 2-9/${bytes.length}`);
    const several = await get(url, { range: "bytes=0-1,4-5" });
    assert.match(several.headers.get("content-type") ?? "", /^multipart\/byteranges/);
  });

  it("is public with its collection, and cached as the original is", async () => {
    const access = { read: "public" };
    const definition = { access, cache: { maxAge: 60 }, pictures: { sizes: [{ width: 10 }] } };
    await define("open", definition);
    const url = await upload(await flag().png().toBuffer(), "image/png", "open");
    const { status, headers } = await app.request(`${url}?width=10`, { token: null });
    assert.deepEqual([status, headers.get("cache-control")], [200, "public, max-age=60"]);
  });

  it("is shown to those who may read the file, and to nobody else", async () => {
    const url = `${await upload(await flag().png().toBuffer())}?width=10`;
    assert.equal((await get(url)).status, 200);
    assertProblem(await answerOf(app.request(url, { token: null })), "unauthenticated");
    const token = await app.token("others:*");
    assertProblem(await answerOf(app.request(url, { token })), "insufficient-scope");
    await define("mine", { access: { read: "owner" }, pictures: { sizes: [{ width: 10 }] } });
    const own = `${await upload(await flag().png().toBuffer(), "image/png", "mine")}?width=10`;
    assert.equal((await get(own)).status, 200);
    const other = await app.token("mine:*");
    assertProblem(await answerOf(app.request(own, { token: other })), "not-found");
  });

  it("can be signed in a size, for this size only", async () => {
    const url = await upload(await flag().png().toBuffer());
    const { body } = await client.post("/-/signed-urls", { path: `${url}?width=10&format=webp` });
    const signed = JSON.parse(body).url;
    const response = await app.request(signed, { token: null });
    assert.deepEqual([response.status, response.headers.get("content-type")], [200, "image/webp"]);
    const changed = [
      signed.replace("width=10", "height=5"),
      signed.replace("webp", "jpeg"),
      signed.replace("&format=webp", ""),
    ];
    for (const each of changed)
      assertProblem(await answerOf(app.request(each, { token: null })), "invalid-signature");
  });

  it("goes with its file", async () => {
    const folder = join(data, "pictures");
    const before = await filesIn(folder);
    const url = await upload(await flag().png().toBuffer());
    await bytesOf(`${url}?width=10`);
    await bytesOf(`${url}?description=true`);
    assert.equal((await filesIn(folder)).length, before.length + 2);
    assert.equal((await client.remove(url.replace("/file", ""))).status, 204);
    assert.deepEqual(await filesIn(folder), before);
    assertProblem(await answerOf(get(`${url}?width=10`)), "not-found");
  });

  it("goes with the next sweep, when its file went without it", async () => {
    const folder = await mkdtemp(join(tmpdir(), "restante-"));
    const config = readConfig({ flags: { data: folder }, environment: {}, cwd: folder });
    assert.ok(!Array.isArray(config));
    const swept = await assemble(config as Config, createLog("silent"));
    try {
      const send = async (method: string, path: string, type = "", body?: Buffer<ArrayBuffer>) => {
        const length = { "content-type": type, "content-length": `${body?.length}` };
        const init = { method, ...(body && { headers: length, body }) };
        const response = await swept.systemFetch(new Request(`http://localhost${path}`, init));
        assert.ok(response.status < 300, `${method} ${path}: ${response.status}`);
        return response;
      };
      const picture = Buffer.from(await flag().png().toBuffer());
      const definition = Buffer.from(JSON.stringify({ pictures: { sizes: [{ width: 10 }] } }));
      const urls: string[] = [];
      for (const name of ["dropped", "kept"]) {
        await send("PUT", `/-/collections/${name}`, "application/json", definition);
        const made = await send("POST", `/${name}`, "image/png", picture);
        urls.push(((await made.json()) as { file: { url: string } }).file.url);
      }
      for (const url of urls) await send("GET", `${url}?width=10`);
      const both = await filesIn(join(folder, "pictures"));
      assert.equal(both.length, 2);
      await send("DELETE", "/-/collections/dropped?confirm=dropped");
      await swept.sweep();
      const left = await filesIn(join(folder, "pictures"));
      assert.equal(left.length, 1);
      await send("GET", `${urls[1]}?width=10`);
      assert.deepEqual(await filesIn(join(folder, "pictures")), left);
    } finally {
      await swept.close();
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("is made again when what was kept is damaged", async () => {
    const url = `${await upload(await flag().png().toBuffer())}?height=5`;
    const before = await filesIn(join(data, "pictures"));
    const good = await bytesOf(url);
    const [kept = ""] = (await filesIn(join(data, "pictures"))).filter(
      (path) => !before.includes(path),
    );
    for (const damage of [Buffer.alloc(0), Buffer.alloc(500), good, good.subarray(0, 40)]) {
      await writeFile(kept, damage);
      assert.deepEqual(await bytesOf(url), good);
    }
  });
});

describe("a request for a picture", () => {
  it("is 400 for a size that is not declared, with those that are", async () => {
    const url = await upload(await flag().png().toBuffer());
    for (const size of ["width=17&height=16", "width=16", "height=16", "width=5&height=10"]) {
      const { errors = [] } = assertProblem(
        await client.get(`${url}?${size}`),
        "invalid-parameter",
      );
      assert.match(errors[0]?.detail ?? "", /width=16&height=16, width=10, height=5, width=400/);
    }
    await define("plain", {});
    const plain = await upload(await flag().png().toBuffer(), "image/png", "plain");
    for (const size of ["width=16", "description=true"])
      assertProblem(await client.get(`${plain}?${size}`), "invalid-parameter");
  });

  it("is 400 for wrong parameters, each of which is named", async () => {
    const url = await upload(await flag().png().toBuffer());
    const wrong: readonly [query: string, parameters: readonly string[]][] = [
      ["width=0", ["width"]],
      ["width=1.5&height=-1", ["width", "height"]],
      ["width=10&width=10", ["width"]],
      ["width=10&fit=squeeze", ["fit"]],
      ["width=10&format=svg", ["format"]],
      ["format=webp", ["format"]],
      ["fit=cover", ["fit"]],
      ["width=10&description=true", ["width"]],
      ["description=yes", ["description"]],
      ["widht=10", ["widht"]],
      ["width=", ["width"]],
    ];
    for (const [query, parameters] of wrong) {
      const { errors = [] } = assertProblem(
        await client.get(`${url}?${query}`),
        "invalid-parameter",
      );
      assert.deepEqual(
        errors.map(({ parameter }) => parameter),
        parameters,
        query,
      );
      const signing = await client.post("/-/signed-urls", { path: `${url}?${query}` });
      assertProblem(signing, "invalid-body");
    }
  });

  it("is 400 for a file that is no picture, and SVG is none", async () => {
    const svg = broken["an SVG"] ?? Buffer.alloc(0);
    for (const type of ["text/plain", "image/svg+xml", "IMAGE/SVG+XML", "image/tiff"]) {
      const url = await upload(svg, type);
      const { errors = [] } = assertProblem(
        await client.get(`${url}?width=10`),
        "invalid-parameter",
      );
      assert.match(errors[0]?.detail ?? "", /^The file is .*This is for image\/jpeg, image\/png/);
    }
  });
});

describe("a description", () => {
  it("has the size as it is shown, and a preview of a few bytes", async () => {
    const url = await upload(await turned(6), "image/jpeg");
    const response = await get(`${url}?description=true`);
    assert.equal(response.headers.get("content-type"), "application/json");
    const { width, height, preview, ...file } = (await response.json()) as Record<string, string>;
    assert.deepEqual([width, height], [40, 20]);
    const [, base64 = ""] = /^data:image\/webp;base64,(.*)$/.exec(preview ?? "") ?? [];
    const info = await sharp(Buffer.from(base64, "base64")).metadata();
    assert.deepEqual([info.width, info.height], [16, 8]);
    assert.ok(base64.length < 400, `${base64.length}`);
    const { body } = await client.get(url.replace("/file", ""));
    assert.deepEqual(file, JSON.parse(body).file);
    const etag = response.headers.get("etag") ?? "";
    assert.equal((await get(`${url}?description=true`, { "if-none-match": etag })).status, 304);
  });

  it("has no part that the schema hides, and the file and its pictures have no hidden name", async () => {
    const hidden = { name: { writeOnly: true }, sha256: { writeOnly: true } };
    const schema = { properties: { file: { properties: hidden } } };
    await define("unnamed", { schema, pictures: { sizes: [{ width: 10 }] }, signedUrls: true });
    const url = await upload(await flag().png().toBuffer(), "image/png", "unnamed");
    const described = await get(`${url}?description=true`);
    const { width, height, preview, ...shown } = (await described.json()) as Record<string, string>;
    const { body } = await client.get(url.replace("/file", ""));
    assert.deepEqual(shown, JSON.parse(body).file);
    assert.deepEqual(Object.keys(shown), ["type", "size", "url"]);
    for (const query of ["", "?download=", "?width=10", "?description=true"]) {
      const path = `${url}${query}`;
      const { url: signed } = JSON.parse((await client.post("/-/signed-urls", { path })).body);
      for (const response of [await get(path), await app.request(signed, { token: null })]) {
        assert.equal(response.status, 200, path);
        assert.doesNotMatch(response.headers.get("content-disposition") ?? "", /flag/, path);
      }
    }
  });
});

describe("a broken picture", () => {
  const statusOf = async (bytes: Buffer, type = "image/png"): Promise<number> => {
    const answer = await client.get(`${await upload(bytes, type)}?width=16&height=16`);
    if (answer.status !== 200) assertProblem(answer, "unprocessable-picture");
    return answer.status;
  };

  it("is 422, also a bomb and what only says that it is a picture", async () => {
    for (const [kind, bytes] of Object.entries(broken))
      assert.equal(await statusOf(bytes), 422, kind);
    const { detail } = assertProblem(
      await client.get(
        `${await upload(broken["a PNG of 200 megapixels"] ?? Buffer.alloc(0))}?width=10`,
      ),
      "unprocessable-picture",
    );
    assert.match(detail ?? "", /pixel limit/);
  });

  it("does not hold up others with large comments, which are not read", async () => {
    assert.equal(await statusOf(withLargeComments()), 200);
  });

  it("is 422 when it is cut off, and 200 or 422 when bytes are changed", async () => {
    const random = randomNumbers(newSeed("broken pictures"));
    const below = (limit: number) => Math.floor(random() * limit);
    const samples = [
      await flag(200, 100).jpeg().toBuffer(),
      await flag(200, 100).png().toBuffer(),
      await flag(200, 100).webp().toBuffer(),
      await flag(200, 100).gif().toBuffer(),
    ];
    for (let run = 0; run < runs(5, 500); run++) {
      const bytes = Buffer.from(samples[run % samples.length] ?? Buffer.alloc(0));
      if (random() < 0.3) await statusOf(bytes.subarray(0, below(bytes.length)));
      for (let count = below(9); count >= 0; count--) bytes[below(bytes.length)] = below(256);
      await statusOf(bytes);
    }
    assert.equal(await statusOf((samples[0] ?? Buffer.alloc(0)).subarray(0, 300)), 422);
    assert.equal(await statusOf(samples[0] ?? Buffer.alloc(0)), 200);
  });

  itLong("does not make the server use more memory", async () => {
    const large = await flag(7_000, 7_000).jpeg({ progressive: true }).toBuffer();
    const before = process.memoryUsage.rss();
    assert.equal(await statusOf(large), 200);
    assert.ok(process.memoryUsage.rss() - before < 128 * 2 ** 20);
  });
});
