// The files of a website (--public): which are served, with which header fields, and none that is not public.
// @runtimes both

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { PublicFolder, readPublicFile } from "../../src/lib/public-folder.ts";
import { openConnection } from "../runtime/raw-connection.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { captureLog } from "./captured-log.ts";
import { type Answer, answerOf, assertProblem } from "./expect.ts";

const secret = "what nobody may read";
const large = Buffer.alloc(700_000, "0123456789");
const vite = "assets/index-BX3f9a1c.js";

const files: Readonly<Record<string, string | Buffer>> = {
  "dist/index.html": "home",
  "dist/index.html.gz": "home as gzip",
  "dist/docs/index.html": "docs",
  "dist/docs/a b.txt": "with a space",
  "dist/docs/ünï.txt": "not ASCII",
  "dist/empty.txt": "",
  "dist/folder/file.unknown": "bytes",
  [`dist/${vite}`]: "script",
  [`dist/${vite}.br`]: "script as br",
  [`dist/${vite}.zst`]: "script as zstd",
  [`dist/${vite}.gz`]: "script as gzip",
  "dist/large.bin": large,
  "dist/people": "hidden by nothing",
  "dist/api/people": secret,
  "dist/.well-known/security.txt": "contact",
  "dist/.well-known/.hidden": secret,
  "dist/docs/.well-known/x": secret,
  "dist/.env": secret,
  "dist/.git/config": secret,
  "dist/docs/.htpasswd": secret,
  "dist/%2e%2e/x": "a name with percent signs",
  "outside.txt": secret,
  "outside/index.html": secret,
  "dist-other/index.html": secret,
};

let root: string;
let app: TestApp;
const log = captureLog();
const at = (path: string): string => join(root, path);

before(async () => {
  root = await mkdtemp(join(tmpdir(), "restante-website-"));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(at(path)), { recursive: true });
    await writeFile(at(path), content);
  }
  const links: Readonly<Record<string, string>> = {
    "dist/inside.txt": "docs/a b.txt",
    "dist/out.txt": "../outside.txt",
    "dist/out": "../outside",
    "dist/up": "..",
    "dist/other": "../dist-other",
    "dist/shown-env": ".env",
    "dist/shown-git": ".git",
    "dist/loop": "loop",
    "dist/absolute": at("outside.txt"),
    "dist/missing": "nowhere",
  };
  for (const [path, target] of Object.entries(links)) await symlink(target, at(path));
  execFileSync("mkfifo", [at("dist/pipe")]);
  app = await startApp({ public: at("dist"), corsOrigins: ["https://a.test"] }, log.log);
});
after(async () => {
  await app.stop();
  await rm(root, { recursive: true, force: true });
});

type Fields = Readonly<Record<string, string>>;

/** No client library in between: it would change fields and paths. */
async function raw(target: string, headers: Fields = {}, method = "GET") {
  const fields = Object.entries({ host: "localhost", connection: "close", ...headers });
  const wire = await openConnection(app.port, { head: method === "HEAD" });
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`);
  wire.write(`${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n`);
  const answer = await wire.response();
  wire.destroy();
  return answer ?? assert.fail(`no answer to ${method} ${target}`);
}

async function read(target: string, headers: Fields = {}, method = "GET") {
  const answer = await raw(target, headers, method);
  assert.equal(answer.headers["x-content-type-options"], "nosniff", target);
  assert.ok(answer.headers["cache-control"], target);
  assert.ok(answer.headers["x-request-id"], target);
  const ofCors = Object.keys(answer.headers).filter((name) => name.startsWith("access-control"));
  assert.deepEqual(ofCors, [], target);
  return answer;
}

async function assertMissing(target: string): Promise<void> {
  const { status, headers, body } = await read(target);
  assertProblem({ status, headers: new Headers({ ...headers }), body }, "not-found", "/api");
  assert.match(body, /The API begins at \/api\./);
}

describe("a file", () => {
  for (const [target, body, type] of [
    ["/", "home", "text/html; charset=utf-8"],
    ["/index.html", "home", "text/html; charset=utf-8"],
    ["/docs/", "docs", "text/html; charset=utf-8"],
    ["/docs/?a=b", "docs", "text/html; charset=utf-8"],
    ["/docs/a%20b.txt", "with a space", "text/plain; charset=utf-8"],
    ["/docs/%C3%BCn%c3%af.txt", "not ASCII", "text/plain; charset=utf-8"],
    ["/empty.txt", "", "text/plain; charset=utf-8"],
    ["/folder/file.unknown", "bytes", "application/octet-stream"],
    ["/people", "hidden by nothing", "application/octet-stream"],
    ["/inside.txt", "with a space", "text/plain; charset=utf-8"],
    [`/${vite}`, "script", "text/javascript; charset=utf-8"],
    ["/index.html.gz", "home as gzip", "application/gzip"],
    ["/.well-known/security.txt", "contact", "text/plain; charset=utf-8"],
    ["/%252e%252e/x", "a name with percent signs", "application/octet-stream"],
  ] as const)
    it(`is at ${target}`, async () => {
      const answer = await read(target);
      assert.deepEqual([answer.status, answer.body], [200, body]);
      assert.equal(answer.headers["content-type"], type);
      assert.equal(answer.headers["content-length"], String(Buffer.byteLength(body)));
      assert.match(answer.headers.etag ?? "", /^"[\w-]+"$/);
      assert.equal(answer.headers["accept-ranges"], "bytes");
      assert.equal(answer.headers.vary, "Accept-Encoding");
      assert.equal(answer.headers["content-encoding"], undefined);
      const head = await read(target, {}, "HEAD");
      const own = ["date", "x-request-id"];
      const without = (fields: Fields) =>
        Object.fromEntries(Object.entries(fields).filter(([name]) => !own.includes(name)));
      assert.deepEqual([head.status, without(head.headers)], [200, without(answer.headers)]);
    });

  it("is sent in chunks of constant size when it is large", async () => {
    const { body, bytes } = await read("/large.bin");
    assert.equal(body.length, large.length);
    assert.ok(bytes.equals(large));
  });

  it("is found whatever its pages say of it: a query, credentials, and Accept", async () => {
    for (const target of ["/?token=abc&password=x", "/?a=%", "/?access_token=1"])
      assert.equal((await read(target, { accept: "image/png" })).body, "home", target);
    assert.equal((await read("/", { authorization: "Bearer wrong" })).status, 200);
  });

  it("is read only", async () => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"]) {
      const { status, headers, body } = await read("/", {}, method);
      assert.deepEqual([status, headers.allow], [405, "GET, HEAD"], method);
      assert.match(body, /The API begins at \/api\./);
    }
  });

  it("has no part in the CORS of the API", async () => {
    await read("/", { origin: "https://a.test" });
    await read("/nowhere", { origin: "https://a.test" });
    const { headers } = await raw("/api/-/health", { origin: "https://a.test" });
    assert.equal(headers["access-control-allow-origin"], "https://a.test");
  });
});

describe("a folder", () => {
  it("is redirected to its slash, so that links of its page are relative to it", async () => {
    for (const [target, location] of [
      ["/docs", "/docs/"],
      ["/docs?a=%2F", "/docs/?a=%2F"],
      ["/%64ocs", "/%64ocs/"],
    ] as const) {
      const { status, headers } = await read(target);
      assert.deepEqual([status, headers.location, headers["content-length"]], [308, location, "0"]);
    }
  });

  it("is not listed, and a file has no slash", async () => {
    for (const target of ["/folder", "/folder/", "/index.html/", "/docs//", "//docs/", "//"])
      await assertMissing(target);
  });
});

describe("validators", () => {
  for (const target of ["/", "/large.bin"]) {
    it(`answer 304 at ${target}, 412, and ranges`, async () => {
      const whole = await read(target);
      const { etag = "" } = whole.headers;
      const current = await read(target, { "if-none-match": `"x", ${etag}` });
      assert.deepEqual([current.status, current.body, current.headers.etag], [304, "", etag]);
      assert.equal(current.headers["content-type"], undefined);
      assert.equal((await read(target, { "if-none-match": '"x"' })).status, 200);
      assert.equal((await read(target, { "if-match": '"x"' })).status, 412);
      assert.equal((await read(target, { "if-match": "x" })).status, 400);
      assert.equal((await read(target, { "if-match": etag })).status, 200);

      const size = whole.bytes.length;
      const part = await read(target, { range: "bytes=1-2" });
      assert.deepEqual([part.status, part.headers["content-range"]], [206, `bytes 1-2/${size}`]);
      assert.equal(part.body, whole.body.slice(1, 3));
      const end = await read(target, { range: "bytes=-3", "if-range": etag });
      assert.deepEqual([end.status, end.body], [206, whole.body.slice(-3)]);
      assert.equal((await read(target, { range: "bytes=0-1", "if-range": '"x"' })).status, 200);
      const beyond = await read(target, { range: `bytes=${size}-` });
      assert.deepEqual([beyond.status, beyond.headers["content-range"]], [416, `bytes */${size}`]);
      const two = await read(target, { range: "bytes=0-0,2-2" });
      assert.equal(two.status, 206);
      assert.match(two.headers["content-type"] ?? "", /^multipart\/byteranges; boundary=/);
      assert.match(two.body, /bytes 0-0\/\d+\r\n\r\n.\r\n[\s\S]*bytes 2-2\/\d+\r\n\r\n.\r\n/);
      const head = await read(target, { range: "bytes=0-1" }, "HEAD");
      assert.deepEqual([head.status, head.headers["content-length"]], [200, String(size)]);
    });
  }

  it("are not times, which tools give to all files of a build", async () => {
    const { headers } = await read("/");
    const date = headers["last-modified"] ?? assert.fail("no Last-Modified");
    assert.equal((await read("/", { "if-modified-since": date })).status, 200);
    assert.equal((await read("/", { range: "bytes=0-1", "if-range": date })).status, 200);
  });

  for (const [what, content, later] of [
    ["small", "version 1", "version 2"],
    ["large", Buffer.alloc(400_000, "1"), Buffer.alloc(400_000, "2")],
  ] as const)
    it(`change with the bytes of a ${what} file, though its size and its time do not`, async () => {
      const time = new Date(1_600_000_000_000);
      await writeFile(at("dist/changing.txt"), content);
      await utimes(at("dist/changing.txt"), time, time);
      const before = await read("/changing.txt");
      assert.equal(before.headers["last-modified"], time.toUTCString());
      await writeFile(at("next.txt"), later);
      await utimes(at("next.txt"), time, time);
      await rename(at("next.txt"), at("dist/changing.txt"));
      const { status, headers, body } = await read("/changing.txt", {
        "if-none-match": before.headers.etag ?? "",
      });
      assert.deepEqual([status, body], [200, String(later)]);
      assert.notEqual(headers.etag, before.headers.etag);
    });

  it("are never those of two versions: a large file that changes while it is sent is cut", async () => {
    await writeFile(at("dist/torn.bin"), large);
    const found = await new PublicFolder(at("dist")).find(["torn.bin"]);
    assert.ok(typeof found === "object");
    const chunks = readPublicFile(found, 0, found.size);
    assert.equal((await chunks.next()).done, false);
    await writeFile(at("dist/torn.bin"), large.toReversed());
    await assert.rejects(chunks.next(), /was changed while it was sent/);
  });

  it("follow a folder that is replaced as a whole", async () => {
    await mkdir(at("releases/1"), { recursive: true });
    await mkdir(at("releases/2"), { recursive: true });
    await writeFile(at("releases/1/index.html"), "one");
    await writeFile(at("releases/2/index.html"), "two");
    await symlink("releases/1", at("current"));
    const site = await startApp({ public: at("current") });
    const body = async () => (await fetch(site.url)).text();
    assert.equal(await body(), "one");
    await symlink("releases/2", at("next"));
    await rename(at("next"), at("current"));
    assert.equal(await body(), "two");
    await site.stop();
  });
});

describe("codings", () => {
  for (const [accepted, coding] of [
    ["gzip, deflate, br, zstd", "br"],
    ["gzip, zstd", "zstd"],
    ["gzip", "gzip"],
    ["*", "br"],
    ["br;q=0, gzip", "gzip"],
    ["identity", undefined],
    ["deflate", undefined],
  ] as const)
    it(`are taken from files beside it: ${accepted}`, async () => {
      const { headers, body } = await read(`/${vite}`, { "accept-encoding": accepted });
      assert.equal(headers["content-encoding"], coding);
      assert.equal(body, coding === undefined ? "script" : `script as ${coding}`);
      assert.equal(headers["content-type"], "text/javascript; charset=utf-8");
      assert.equal(headers.vary, "Accept-Encoding");
      assert.equal(headers["cache-control"], "public, max-age=31536000, immutable");
    });

  it("have tags of their own", async () => {
    const tags = await Promise.all(
      ["br", "zstd", "gzip", "identity"].map(
        async (coding) => (await read(`/${vite}`, { "accept-encoding": coding })).headers.etag,
      ),
    );
    assert.equal(new Set(tags).size, 4);
  });

  it("are those of an index, and of nothing that is missing", async () => {
    const gzip = { "accept-encoding": "gzip" };
    assert.equal((await read("/", gzip)).body, "home as gzip");
    await writeFile(at("dist/gone.txt.gz"), "left over");
    await assertMissing("/gone.txt");
    assert.equal((await read("/docs/", gzip)).headers["content-encoding"], undefined);
  });
});

describe("pages for addresses without a file", () => {
  const browser = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
  const navigation = { ...browser, "sec-fetch-mode": "navigate" };
  const ofScript = { accept: "*/*", "sec-fetch-mode": "no-cors" };
  after(async () => {
    for (const name of ["200.html", "404.html"]) await rm(at(`dist/${name}`), { force: true });
  });

  it("are a problem when the website has none", async () => {
    assert.equal((await read("/nowhere", navigation)).status, 404);
    await assertMissing("/nowhere");
  });

  it("are 404.html, with 404", async () => {
    await writeFile(at("dist/404.html"), "not here");
    for (const headers of [navigation, browser, ofScript, {}] as Fields[]) {
      const answer = await read("/docs/nowhere.js", { ...headers, range: "bytes=0-1" });
      assert.deepEqual([answer.status, answer.body], [404, "not here"]);
      assert.equal(answer.headers["cache-control"], "no-cache");
      assert.equal(answer.headers.etag, undefined);
      assert.equal(answer.headers.vary, "Accept, Accept-Encoding, Sec-Fetch-Mode");
    }
    assert.equal((await read("/nowhere", { "if-none-match": "*" })).status, 404);
  });

  it("are 200.html for navigations, and 404.html for scripts", async () => {
    await writeFile(at("dist/200.html"), "app");
    for (const headers of [navigation, browser] as Fields[]) {
      const answer = await read("/orders/17", headers);
      assert.deepEqual([answer.status, answer.body], [200, "app"]);
      assert.equal(answer.headers["cache-control"], "no-cache");
      const { etag = "" } = answer.headers;
      assert.equal((await read("/x", { ...headers, "if-none-match": etag })).status, 304);
    }
    for (const headers of [ofScript, {}, { ...browser, "sec-fetch-mode": "cors" }] as Fields[])
      assert.equal((await read("/orders/17", headers)).body, "not here");
    for (const target of ["/.env", "/out.txt", "/api-docs"])
      assert.equal((await read(target, navigation)).body, "app");
  });

  it("are never shown by the API", async () => {
    assert.equal((await raw("/api/-/nowhere", navigation)).status, 404);
    assert.match((await raw("/api/-/nowhere", navigation)).body, /"type":"\/api\/-\/problems/);
  });
});

describe("caching", () => {
  const hashed = [
    ...["assets/index-BX3f9a1c.js", "assets/index-BX3f9a1c.js.map", "assets/a.b-D4kJ2l_a.css"],
    ...["assets/Inter-C-9_bX1q.woff2", "main.8f3a12bc.js", "static/js/main.8f3a12bc.chunk.js"],
    ...["main-ABCD2345.js", "styles-5INURTSO.css", "img/a.0123456789abcdef0123.png"],
    ...["_app/immutable/nodes/0.Dj3kQx_a.js", "_nuxt/BX3f9a1c.js", "_astro/hoisted.CqX1-3fa.js"],
  ];
  const others = [
    ...["index.html", "my-document.pdf", "report-version2.pdf", "photo-20240101.jpg", "sw.js"],
    ...["logo-1280x720.png", "assets/screenshot-1280x720.png"],
    ...["jquery-3.7.1.min.js", "data-MyWidget.js", "assets/my-document.js", "favicon.ico"],
    ...["main-deadbeef.js", "robots.txt", "photo-2024-01-01.jpg"],
  ];
  it("is for ever where the name has a hash, and by the ETag elsewhere", async () => {
    for (const name of [...hashed, ...others]) {
      await mkdir(dirname(at(`dist/${name}`)), { recursive: true });
      if (files[`dist/${name}`] === undefined) await writeFile(at(`dist/${name}`), "x");
      const { status, headers } = await read(`/${name}`);
      const expected = hashed.includes(name) ? "public, max-age=31536000, immutable" : "no-cache";
      assert.deepEqual([status, headers["cache-control"]], [200, expected], name);
    }
  });
});

describe("hostile paths", () => {
  const known = [
    ...["/.env", "/.git/config", "/docs/.htpasswd", "/.well-known/.hidden", "/.well-known"],
    ...["/docs/.well-known/x", "/out.txt", "/out/", "/out/index.html", "/up/outside.txt", "/up/"],
    ...["/other/", "/shown-env", "/shown-git/config", "/loop", "/absolute", "/missing", "/pipe"],
    ...["/%2eenv", "/%2Egit%2fconfig", "/docs%2f.htpasswd", "/docs%5c.htpasswd", "/.env%00"],
    ...["/index.html%00", "/index.html%00.txt", "/docs%00/", "/.env.", "/.env%20", "/.env/"],
    ...["/..%2foutside.txt", "/..%5coutside.txt", "/%2e%2e%2foutside.txt", "/docs/..%2f.env"],
    ...["/....//outside.txt", "/..;/outside.txt", "/%c0%ae%c0%ae/outside.txt", "/∕.env"],
    ...["/%ef%bc%8eenv", "/%E2%80%AE.env", "/~root", "/C:%5Coutside.txt", "/file:/outside.txt"],
    ...[`/${"a".repeat(5000)}`, `/${"a/".repeat(3000)}`, `/${"%61".repeat(300)}`, "/api/../.env"],
    ...[
      "/proc/self/environ",
      "/etc/passwd",
      "//etc/passwd",
      "/dist-other/index.html",
      "/dist/.env",
    ],
  ];
  for (const target of known)
    it(`answer nothing: ${target.slice(0, 40)}`, async () => {
      const { status, body } = await raw(encodeURI(target).replaceAll("%25", "%"));
      assert.ok(status === 404 || status === 400, `${status}`);
      assert.ok(!body.includes(secret));
    });

  it("answer nothing that is not public, however they are put together", async () => {
    const next = randomNumbers(newSeed("hostile paths"));
    const pick = (from: readonly string[]) => from[Math.floor(next() * from.length)] ?? "";
    const names = [
      ...[".env", "outside.txt", "dist", "docs", ".git", "config", "out", "up", "other", "a b.txt"],
      ...["index.html", ".htpasswd", "shown-env", "dist-other", "api", "people", "", "..", "."],
    ];
    const separators = [
      "/",
      "/",
      "/",
      "%2f",
      "%5c",
      "\\",
      "//",
      "/./",
      "/../",
      "%00",
      ";",
      "/%2e%2e/",
    ];
    const spell = (text: string) =>
      [...text].map((each) => {
        const code = `%${each.charCodeAt(0).toString(16).padStart(2, "0")}`;
        const spelled = next() < 0.2 ? (next() < 0.5 ? code : code.toUpperCase()) : each;
        return next() < 0.03 ? spelled.replace("%", "%25") : spelled;
      });
    for (let round = runs(300, 20_000); round > 0; round--) {
      const parts = Array.from({ length: 1 + Math.floor(next() * 5) }, () => [
        pick(separators),
        ...spell(pick(names)),
      ]);
      const target = `/${parts.flat(2).join("").replaceAll(" ", "%20")}`;
      const { status, body } = await raw(target);
      assert.ok([200, 308, 400, 401, 404].includes(status), `${status} ${target}`);
      assert.ok(!body.includes(secret), target);
    }
  });
});

describe("requests for the website", () => {
  it("are logged, measured and counted as others, with their paths as they were sent", async () => {
    await read("/docs/?token=secret");
    await raw("/api/-/nowhere");
    await log.settled();
    const lines = log.lines();
    assert.ok(lines.some(({ path, status }) => path === "/docs/" && status === 200));
    assert.ok(lines.some(({ path, status }) => path === "/api/-/nowhere" && status === 404));
    assert.ok(!log.text().includes("token=secret"));
    const metrics = await (await app.request("/-/metrics")).text();
    assert.match(
      metrics,
      /request_duration_seconds_count\{method="GET",route="website",status="2xx"\}/,
    );
  });

  it("are for the hosts of the server, and so are those that look like a health check", async () => {
    const other = await startApp({
      public: at("dist"),
      baseUrl: "https://example.org/x",
      allowedHosts: [],
    });
    const ask = async (path: string, host: string): Promise<Answer> =>
      answerOf(other.direct(new Request(`http://${host}${path}`, { headers: { host } })));
    assert.equal((await ask("/docs/", "evil.test")).status, 421);
    assert.equal((await ask("/-/health", "evil.test")).status, 421);
    assert.equal((await ask("/api/-/health", "evil.test")).status, 200);
    const redirect = await ask("/docs", "example.org");
    assert.equal(redirect.headers.get("location"), "https://example.org/x/docs/");
    assert.ok(redirect.headers.has("strict-transport-security"));
    const missing = assertProblem(
      await ask("/nowhere", "example.org"),
      "not-found",
      "https://example.org/x/api",
    );
    assert.equal(missing.instance, "https://example.org/x/nowhere");
    await other.stop();
  });

  it("count against the limit of their address", async () => {
    const limited = await startApp({ public: at("dist"), rateLimitPerAddress: 2 });
    const ask = async (path: string) =>
      (await limited.direct(new Request(`http://localhost${path}`), "192.0.2.1")).status;
    assert.deepEqual([await ask("/"), await ask("/-/health"), await ask("/")], [200, 404, 429]);
    await limited.stop();
  });
});
