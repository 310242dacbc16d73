// A prepared response is not sent when a header field or a state differs that decides the response.
// @process own

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { PreparedResponses } from "../../src/http/prepared-responses.ts";
import { startApp, type TestApp } from "./app.ts";

const { find } = PreparedResponses.prototype;
const sets = { numbers: { collection: "others", where: { n: { gte: 1 } }, field: "n" } };

type Fields = Readonly<Record<string, string>>;

describe("a prepared response", () => {
  let app: TestApp;
  let reader: string;
  /** Whether each request found one, in order. */
  const found: boolean[] = [];

  before(async () => {
    PreparedResponses.prototype.find = function findAndNote(context) {
      const result = find.call(this, context);
      found.push(result !== undefined);
      return result;
    };
    app = await startApp({ baseUrl: "http://api.example.org", trustProxy: ["127.0.0.1"] });
    reader = await app.token("*:read");
  });
  after(async () => {
    PreparedResponses.prototype.find = find;
    await app.stop();
  });

  const get = async (path: string, headers: Fields = {}, method = "GET") => {
    const response = await app.direct(
      new Request(`http://localhost${path}`, {
        method,
        headers: { host: "localhost", authorization: `Bearer ${reader}`, ...headers },
      }),
      "127.0.0.1",
    );
    return { response, isFound: found.at(-1) === true };
  };

  const send = async (method: string, path: string, body?: object): Promise<void> => {
    const response = await app.request(path, {
      method,
      headers: { "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  };

  /** Repeats a GET until its response is prepared. */
  const prepare = async (path: string, headers: Fields = {}): Promise<void> => {
    await get(path, headers);
    assert.ok((await get(path, headers)).isFound, `${path} is not prepared`);
  };

  describe("of the same address, is not sent with another", () => {
    const paths = ["/fields/a", "/fields", "/fields?limit=1", "/fields?expand=note"];
    before(async () => {
      await send("POST", "/notes", { n: 1 });
      await send("PUT", "/-/collections/fields", { references: { note: { collection: "notes" } } });
      await send("PUT", "/fields/a", { n: 1 });
    });

    for (const [name, value] of Object.entries({
      accept: "text/html",
      "accept-encoding": "gzip",
      authorization: "Bearer wrong",
      host: "127.0.0.1",
      "if-match": '"a"',
      "if-modified-since": "Mon, 01 Jan 2024 00:00:00 GMT",
      "if-none-match": '"a"',
      "if-unmodified-since": "Mon, 01 Jan 2024 00:00:00 GMT",
    }))
      it(`${name}`, async () => {
        for (const path of paths) {
          await prepare(path);
          assert.ok(!(await get(path, { [name]: value })).isFound, `${path} with ${name}`);
        }
      });

    it("method", async () => {
      for (const path of paths) {
        await prepare(path);
        assert.ok(!(await get(path, {}, "HEAD")).isFound, path);
      }
    });

    it("query", async () => {
      await prepare("/fields/a");
      assert.ok(!(await get("/fields/a?fields=n")).isFound);
    });

    it("but with other fields, which decide nothing", async () => {
      for (const path of paths) {
        await prepare(path);
        assert.ok(
          (await get(path, { "user-agent": "a", origin: "http://a.example" })).isFound,
          path,
        );
      }
    });
  });

  describe("is not sent after", () => {
    /** Prepares the responses of a new collection, changes a state, and says that they are run again. */
    const test = (
      title: string,
      define: object,
      change: (name: string) => Promise<void>,
      paths: readonly string[] = ["/a", "", "?limit=1"],
    ) =>
      it(title, async () => {
        const name = title.replaceAll(/[^a-z]+/g, "-");
        await send("PUT", `/-/collections/${name}`, define);
        await send("PUT", `/${name}/a`, { n: 1, note: "b" });
        for (const path of paths) await prepare(`/${name}${path}`);
        await change(name);
        for (const path of paths)
          assert.ok(!(await get(`/${name}${path}`)).isFound, `/${name}${path} after ${title}`);
      });
    const references = { note: { collection: "others", onDelete: "unset" } };

    before(async () => {
      await send("PUT", "/-/collections/others", {});
      await send("PUT", "/others/b", { n: 1 });
      await send("PUT", "/-/access", { sets });
    });

    test("a write", {}, (name) => send("PUT", `/${name}/a`, { n: 2 }));
    test("a write to another resource", {}, (name) => send("POST", `/${name}`, { n: 2 }), [""]);
    test("a deletion", {}, (name) => send("DELETE", `/${name}/a`));
    test("a change of the definition", {}, (name) =>
      send("PUT", `/-/collections/${name}`, { cache: { maxAge: 60 } }),
    );
    test("a change of who may read", {}, (name) =>
      send("PUT", `/-/collections/${name}`, { access: { read: "owner" } }),
    );
    test("a change of a reference", { references }, () => send("PUT", "/others/b", { n: 5 }), [
      "/a?expand=note",
      "?expand=note",
    ]);
    test(
      "a change of a set",
      { access: { read: [{ name: "numbers", to: "token", where: { n: { in: "$my.numbers" } } }] } },
      () => send("PUT", "/others/c", { n: 7 }),
      ["", "?limit=1"],
    );
    test("a reload", {}, async () => app.reload({ corsOrigins: ["http://a.example"] }));
  });

  it("is not sent to a caller whose token was revoked, or has other scopes", async () => {
    await send("PUT", "/tokens/a", { n: 1 });
    for (const path of ["/tokens/a", "/tokens"]) {
      await prepare(path);
      const other = await app.token("others:read");
      const { response } = await get(path, { authorization: `Bearer ${other}` });
      assert.equal(response.status, 403);
      const { isFound } = await get(path, { authorization: `Bearer ${reader}x` });
      assert.ok(!isFound, path);
    }
  });

  it("is not sent after the caller's role has lost its scopes", async () => {
    const access = (scopes: readonly string[]) =>
      send("PUT", "/-/access", { roles: { keeper: scopes }, sets });
    await send("PUT", "/roles/a", { n: 1 });
    await access(["*:read"]);
    const made = await app.request("/-/tokens", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "keeper", scopes: [], roles: ["keeper"] }),
    });
    const { token } = (await made.json()) as { token: string };
    const authorization = `Bearer ${token}`;
    for (const path of ["/roles/a", "/roles"]) {
      await access(["*:read"]);
      await prepare(path, { authorization });
      await access(["others:read"]);
      const { response, isFound } = await get(path, { authorization });
      assert.deepEqual([response.status, isFound], [403, false], path);
    }
  });

  it("is not sent without TLS where a token needs it", async () => {
    await send("PUT", "/clear/a", { n: 1 });
    await prepare("/clear/a");
    app.reload({ baseUrl: "https://api.example.org" });
    await prepare("/clear/a", { "x-forwarded-proto": "https" });
    assert.ok(!(await get("/clear/a", { "x-forwarded-proto": "http" })).isFound);
  });
});
