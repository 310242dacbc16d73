// Restante behind nginx, Caddy and HAProxy with the configurations in deploy/: what proxies like to break.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { missing } from "../generators/tools.ts";
import { openConnection, type RawResponse, send } from "../runtime/raw-connection.ts";
import { clientAddress, type Proxied, proxies, startBehind } from "./proxy.ts";

interface Sent {
  /** An empty one is left out. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** Sends one request through the proxy, and returns all responses to it. */
async function exchange(
  { connect, admin }: Proxied,
  method: string,
  path: string,
  { headers = {}, body = "" }: Sent = {},
): Promise<{ final: RawResponse; interim: readonly number[] }> {
  const connection = await connect();
  const fields = {
    host: "localhost",
    authorization: `Bearer ${admin}`,
    ...(body.length > 0 ? { "content-length": String(Buffer.byteLength(body)) } : {}),
    ...headers,
  };
  const lines = Object.entries(fields).flatMap(([name, value]) =>
    value === "" ? [] : `${name}: ${value}\r\n`,
  );
  connection.write(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
  connection.write(body);
  const interim: number[] = [];
  for (;;) {
    const response = await connection.response();
    assert.ok(response, `${method} ${path}: no response`);
    if (response.status >= 200) {
      connection.destroy();
      return { final: response, interim };
    }
    interim.push(response.status);
  }
}

const json = { "content-type": "application/json" };
const knows104 = { "upload-draft-interop-version": "8" };
const pdf = { "content-type": "application/pdf" };
const isProblem = ({ headers }: RawResponse) =>
  headers["content-type"] === "application/problem+json";

for (const proxy of proxies) {
  const lacking = missing([proxy.name, "openssl"]);
  const skip = lacking.length > 0 ? `missing: ${lacking.join(", ")} (apt-get install)` : false;
  describe(`behind ${proxy.name}`, { skip }, () => {
    let behind: Proxied;
    const ask = async (method: string, path: string, sent?: Sent) =>
      (await exchange(behind, method, `/api${path}`, sent)).final;
    const post = (path: string, fields: unknown) =>
      ask("POST", path, { headers: json, body: JSON.stringify(fields) });
    const pathOf = (location: string | undefined) => (location ?? "").slice(behind.base.length);

    before(async () => {
      behind = await startBehind(proxy);
    });
    after(() => behind?.stop());

    it("shows URLs with the prefix, and they work", async () => {
      const created = await post("/people", { name: "Ada" });
      assert.equal(created.status, 201);
      assert.ok(created.headers.location?.startsWith(`${behind.base}/people/`));
      const read = await ask("GET", pathOf(created.headers.location));
      assert.equal(read.status, 200);
      assert.equal(read.headers["strict-transport-security"], "max-age=31536000");
      const list = await ask("GET", "/people?limit=1");
      assert.ok(list.headers.link?.includes(`<${behind.base}/people?`));
      const problem = JSON.parse((await ask("GET", "/people/none")).body);
      assert.equal(problem.type, `${behind.base}/-/problems/not-found`);
    });

    it("passes paths and queries on as they are", async () => {
      for (const path of ["/people/a%2Fb", "/people/%61", "/people/a%20b", "/people/%C3%A4"]) {
        const direct = await send(
          behind.server.port,
          `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${behind.admin}\r\nConnection: close\r\n\r\n`,
        );
        const [expected] = direct.responses;
        const answer = await ask("GET", path);
        assert.equal(answer.status, expected?.status, path);
        const instance = (response: RawResponse | undefined) =>
          JSON.parse(response?.body ?? "{}").instance;
        assert.equal(instance(answer), instance(expected), path);
      }
      const name = "ä & ö = %2F + ;";
      await post("/letters", { name });
      const query = await ask("GET", `/letters?name=${encodeURIComponent(name)}`);
      assert.equal(JSON.parse(query.body).total, 1);
    });

    it("keeps ETags strong, compressed or not, so that preconditions work", async () => {
      for (const size of [10, 10_000]) {
        const created = await post("/notes", { text: "x".repeat(size) });
        const path = pathOf(created.headers.location);
        for (const coding of ["identity", "gzip", "br, gzip"]) {
          const headers = { "accept-encoding": coding };
          const read = await ask("GET", path, { headers });
          const etag = read.headers.etag ?? "";
          assert.match(etag, /^"/, `${size} bytes as ${coding}`);
          const again = await ask("GET", path, { headers: { ...headers, "if-none-match": etag } });
          assert.equal(again.status, 304);
          assert.equal(again.headers.etag, etag);
          const patch = { ...json, "if-match": etag };
          const body = `{"seen":"${coding}"}`;
          assert.equal((await ask("PATCH", path, { headers: patch, body })).status, 200);
          assert.equal((await ask("PATCH", path, { headers: patch, body })).status, 412);
        }
      }
    });

    it("leaves the limits of bodies to Restante, which says what is wrong", async () => {
      const large = await post("/notes", { text: "x".repeat(1024 * 1024) });
      assert.equal(large.status, 413);
      assert.ok(isProblem(large), "the 413 is Restante's");
      const file = await ask("POST", "/scans", { headers: pdf, body: Buffer.alloc(3_000_000, 7) });
      assert.equal(file.status, 201);
      assert.equal(JSON.parse(file.body).file.size, 3_000_000);
    });

    it("passes bytes of an upload on while they arrive", async () => {
      const begun = await exchange(behind, "POST", "/api/scans", {
        headers: { ...pdf, ...knows104, "upload-complete": "?0", "upload-length": "2000000" },
        body: Buffer.alloc(100_000, 1),
      });
      assert.equal(begun.final.status, 201);
      assert.deepEqual(begun.interim, proxy.name === "nginx" ? [] : [104]);
      const path = pathOf(begun.final.headers.location);
      // The rest never comes. What has arrived is kept, which a proxy that collects the body would prevent.
      let offset = 100_000;
      for (let attempt = 1; offset === 100_000; attempt++)
        offset = await cutUpload(path, offset, attempt * 100);
      const rest = await ask("PATCH", path, {
        headers: {
          "content-type": "application/partial-upload",
          "upload-offset": String(offset),
          "upload-complete": "?1",
        },
        body: Buffer.alloc(2_000_000 - offset, 1),
      });
      assert.equal(rest.status, 201, rest.body);
      assert.equal(JSON.parse(rest.body).file.size, 2_000_000);
    });

    it("speaks HTTP/2, and begins an upload over it", async () => {
      const session = connect(`https://localhost:${behind.port}`, { rejectUnauthorized: false });
      const authorization = `Bearer ${behind.admin}`;
      for (const fields of [{}, knows104]) {
        const stream = session.request({
          ":method": "POST",
          ":path": "/api/scans",
          ...pdf,
          ...fields,
          authorization,
          "upload-complete": "?0",
        });
        const responded = once(stream, "response");
        stream.end("some bytes");
        const [begun] = await responded;
        assert.equal(begun[":status"], 201);
        assert.match(String(begun.location), /\/-\/uploads\//);
      }
      session.destroy();
    });

    /** Sends a part of the rest, and ends the connection after a while. Returns how far it got. */
    async function cutUpload(path: string, offset: number, ms: number): Promise<number> {
      const connection = await behind.connect();
      connection.write(
        `PATCH /api${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${behind.admin}\r\n` +
          `Content-Type: application/partial-upload\r\nUpload-Offset: ${offset}\r\n` +
          `Upload-Complete: ?1\r\nContent-Length: ${2_000_000 - offset}\r\n\r\n`,
      );
      connection.write(Buffer.alloc(500_000, 1));
      await Promise.race([connection.untilClosed(), sleep(ms)]);
      connection.destroy();
      return Number((await ask("HEAD", path)).headers["upload-offset"]);
    }

    it("streams a large export whole", async () => {
      const lines = Array.from(
        { length: 5_000 },
        (_, n) => `{"n":${n},"text":"${"y".repeat(400)}"}`,
      );
      const headers = { "content-type": "application/x-ndjson" };
      for (let at = 0; at < lines.length; at += 2_000) {
        const body = lines.slice(at, at + 2_000).join("\n");
        const imported = await ask("POST", "/rows", { headers, body });
        assert.equal(imported.status, 200, imported.body.slice(0, 300));
      }
      const exported = await ask("GET", "/rows", { headers: { accept: "application/x-ndjson" } });
      assert.equal(exported.body.trimEnd().split("\n").length, lines.length);
    });

    it("answers an import while it arrives", async () => {
      const connection = await behind.connect();
      const line = `${JSON.stringify({ text: "z".repeat(1_000) })}\n`.repeat(500);
      connection.write(
        `POST /api/rows HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${behind.admin}\r\n` +
          "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n",
      );
      connection.write(`${Buffer.byteLength(line).toString(16)}\r\n${line}\r\n`);
      // The total grows before the body has ended.
      const totals = async () => JSON.parse((await ask("GET", "/rows?limit=1")).body).total;
      while ((await totals()) === 5_000);
      connection.write("0\r\n\r\n");
      assert.equal((await connection.response())?.status, 200);
      connection.destroy();
    });

    it("tells Restante the address of the client, not what the client claims", async () => {
      const claimed = { "x-forwarded-for": "6.6.6.6", "x-forwarded-proto": "http" };
      const answer = await ask("GET", "/people?limit=1", { headers: claimed });
      assert.equal(answer.status, 200);
      const line = await logged(behind, answer.headers["x-request-id"] ?? "");
      assert.equal(line.client, clientAddress);
    });

    it("continues when the client expects it", async () => {
      const body = '{"name":"Expect"}';
      const headers = { ...json, expect: "100-continue" };
      const { final, interim } = await exchange(behind, "POST", "/api/people", { headers, body });
      assert.equal(final.status, 201);
      assert.ok(
        interim.every((status) => status === 100),
        `${interim}`,
      );
    });

    it("sends ranges of files", async () => {
      const created = await ask("POST", "/scans", { headers: pdf, body: "0123456789" });
      const { pathname } = new URL(JSON.parse(created.body).file.url, behind.base);
      const url = pathname.startsWith("/api") ? pathname.slice(4) : pathname;
      const one = await ask("GET", url, { headers: { range: "bytes=2-4" } });
      assert.equal(one.status, 206);
      assert.equal(one.headers["content-range"], "bytes 2-4/10");
      assert.equal(one.body, "234");
      const two = await ask("GET", url, { headers: { range: "bytes=0-0,9-9" } });
      assert.equal(two.status, 206);
      assert.match(two.headers["content-type"] ?? "", /^multipart\/byteranges/);
      const etag = one.headers.etag ?? "";
      const same = { range: "bytes=5-", "if-range": etag };
      assert.equal((await ask("GET", url, { headers: same })).body, "56789");
    });

    it("passes large header fields on, both ways", async () => {
      const filled = await ask("GET", "/people", { headers: { "x-filler": "f".repeat(12_000) } });
      assert.equal(filled.status, 200);
      // Only the link to a next page is sent for a query that is this long.
      for (const name of ["one", "two"]) await post("/people", { name });
      const query = "n".repeat(5_000);
      const long = await ask("GET", `/people?name%5Bne%5D=${query}&limit=1`);
      assert.equal(long.status, 200, long.body.slice(0, 200));
      assert.ok((long.headers.link?.length ?? 0) > 5_000);
      const tooLarge = await ask("GET", "/people", { headers: { "x-filler": "f".repeat(70_000) } });
      assert.ok(tooLarge.status >= 400 && tooLarge.status < 500, `${tooLarge.status}`);
    });

    it("passes every method on", async () => {
      const query = await ask("QUERY", "/people", { headers: json, body: '{"limit":1}' });
      assert.equal(query.status, 200, query.body);
      const allowed = await ask("OPTIONS", "/people");
      assert.match(allowed.headers.allow ?? "", /QUERY/);
      const created = await post("/people", { name: "Gone" });
      assert.equal((await ask("DELETE", pathOf(created.headers.location))).status, 204);
    });

    it("rejects a host that is not ours", async () => {
      const other = await ask("GET", "/people", { headers: { host: "evil.example" } });
      assert.ok(other.status >= 400 || other.body === "", `${other.status}`);
    });
  });
}

describe("a health check by HTTP/1.0", () => {
  it("needs no Host", { skip: missing(["openssl", "haproxy"]).length > 0 }, async () => {
    const [, , haproxy] = proxies;
    const behind = await startBehind(haproxy as (typeof proxies)[number]);
    try {
      for (const path of ["/-/health", "/-/ready"]) {
        const connection = await openConnection(behind.server.port);
        connection.write(`GET ${path} HTTP/1.0\r\n\r\n`);
        assert.equal((await connection.response())?.status, 200);
        await connection.untilClosed();
        connection.destroy();
      }
    } finally {
      await behind.stop();
    }
  });
});

describe("nginx with a cache", () => {
  const nginx = proxies.find(({ name }) => name === "nginx");
  const lacking = missing(["nginx", "openssl"]);
  const skip = lacking.length > 0 && `missing: ${lacking.join(", ")}`;

  it("serves what everyone sees, and neither stores nor gives more to a token", {
    skip,
  }, async () => {
    const cache = await mkdtemp(join(tmpdir(), "restante-cache-"));
    const behind = await startBehind(nginx as (typeof proxies)[number], (text) =>
      text
        .replace("server {\n    listen", `proxy_cache_path ${cache} keys_zone=pages:1m;\n$&`)
        .replace(
          "proxy_buffering off;",
          "proxy_cache pages; add_header X-Cache $upstream_cache_status always;",
        ),
    );
    try {
      const ask = async (
        method: string,
        path: string,
        authorization?: string,
        fields?: unknown,
      ) => {
        const body = fields === undefined ? "" : JSON.stringify(fields);
        const headers = { ...json, ...(authorization !== undefined && { authorization }) };
        return (await exchange(behind, method, `/api${path}`, { headers, body })).final;
      };
      // The recipe "Published or mine, and roles".
      const rules = await readFile(new URL("../../docs/rules.md", import.meta.url), "utf8");
      const [, recipe = ""] = /collections\/posts '(\{[^']*\})'/.exec(rules) ?? [];
      const definition = { ...JSON.parse(recipe), cache: { maxAge: 3_600 } };
      const roles = { editor: ["posts:*"] };
      assert.equal((await ask("PUT", "/-/access", undefined, { roles })).status, 200);
      assert.equal((await ask("PUT", "/-/collections/posts", undefined, definition)).status, 201);
      const made = await ask("POST", "/-/tokens", undefined, {
        ...{ name: "eve", subject: "eve", scopes: ["posts:*"], roles: ["editor"] },
      });
      const eve = `Bearer ${JSON.parse(made.body).token}`;
      const post = { title: "Hello", notes: "secret", author: "ann", status: "published" };
      assert.equal((await ask("PUT", "/posts/hello", undefined, post)).status, 201);

      for (const path of ["/posts/hello", "/posts", "/posts?fields=title"]) {
        const read = async (who: string) => {
          const { status, headers, body } = await ask("GET", path, who);
          assert.equal(status, 200, body);
          return [headers["x-cache"], body.includes("secret")];
        };
        const hasNotes = !path.includes("fields");
        // Before and after it is stored.
        assert.deepEqual(await read(eve), ["MISS", hasNotes], path);
        assert.deepEqual(await read(""), ["MISS", false], path);
        assert.deepEqual(await read(""), ["HIT", false], path);
        for (let again = 0; again < 2; again++)
          assert.deepEqual(await read(eve), ["MISS", hasNotes], path);
        assert.deepEqual(await read(""), ["HIT", false], path);
      }
    } finally {
      await behind.stop();
      await rm(cache, { recursive: true });
    }
  });
});

describe("nginx with gzip on", () => {
  it("weakens ETags, so that If-Match fails", {
    skip: missing(["openssl", "nginx"]).length > 0,
  }, async () => {
    const [nginx] = proxies;
    const compressing =
      "gzip on; gzip_proxied any; gzip_min_length 0; gzip_types application/json;";
    const behind = await startBehind(nginx as (typeof proxies)[number], (text) =>
      text.replace("gzip off;", compressing),
    );
    try {
      const created = await exchange(behind, "POST", "/api/notes", {
        headers: json,
        body: '{"a":"bbbbbbbbbbbbbbbbbbbb"}',
      });
      const path = `/api${created.final.headers.location?.slice(behind.base.length)}`;
      const headers = { "accept-encoding": "gzip" };
      const { final: read } = await exchange(behind, "GET", path, { headers });
      const etag = read.headers.etag ?? "";
      assert.match(etag, /^W\//);
      const cached = { ...headers, "if-none-match": etag };
      assert.equal((await exchange(behind, "GET", path, { headers: cached })).final.status, 304);
      const patch = { headers: { ...json, "if-match": etag }, body: '{"a":1}' };
      assert.equal((await exchange(behind, "PATCH", path, patch)).final.status, 412);
    } finally {
      await behind.stop();
    }
  });
});

/** The line of the log about a request. It is written soon after the response. */
async function logged({ server }: Proxied, requestId: string): Promise<{ client?: string }> {
  for (;;) {
    const line = server
      .stdout()
      .split("\n")
      .find((text) => text.includes(`"${requestId}"`));
    if (line !== undefined) return JSON.parse(line);
    await sleep(25);
  }
}
