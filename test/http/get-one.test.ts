// GET and HEAD of one resource.

import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { startApp, type TestApp } from "./app.ts";
import { answerOf, expectProblem } from "./expect.ts";

let app: TestApp;
let id: string;
before(async () => {
  app = await startApp();
  ({ id } = (await app.post("people", { name: "Ada", born: 1815 })) as { id: string });
});
after(() => app.stop());

const methods = ["GET", "HEAD", "OPTIONS"];

describe("GET /{collection}/{id}", () => {
  it("returns the representation, its validators and Cache-Control", async () => {
    const { status, headers, body } = await answerOf(app.request(`/people/${id}`));
    assert.equal(status, 200);
    const { createdAt } = JSON.parse(body) as { createdAt: string };
    const times = `"createdAt":"${createdAt}","updatedAt":"${createdAt}"`;
    assert.equal(body, `{"id":"${id}","name":"Ada","born":1815,${times}}`);
    assert.equal(headers.get("content-type"), "application/json");
    assert.equal(headers.get("cache-control"), "private, no-cache");
    assert.match(headers.get("etag") ?? "", /^"[!#-~]+"$/);
    assert.ok(headers.has("last-modified"));
    assert.ok(headers.has("date"));
    assert.equal(headers.get("x-content-type-options"), "nosniff");
  });

  it("returns the same twice", async () => {
    const [first, second] = [
      await answerOf(app.request(`/people/${id}`)),
      await answerOf(app.request(`/people/${id}`)),
    ];
    assert.equal(second.body, first.body);
    assert.equal(second.headers.get("etag"), first.headers.get("etag"));
  });

  it("returns what was acknowledged just before, every time", async () => {
    const rounds = Array.from({ length: 50 }, async (_, n) => {
      const made = await app.post("people", { n });
      const read = await app.request(`/people/${made.id}`);
      assert.deepEqual(await read.json(), made);
    });
    await Promise.all(rounds);
  });

  it("decodes an id exactly once", async () => {
    const hex = (character: string) => `%${character.charCodeAt(0).toString(16)}`;
    const encoded = [...id].map(hex).join("");
    const read = await answerOf(app.request(`/people/${encoded}`));
    assert.equal(read.status, 200);
    assert.equal(read.body, await (await app.request(`/people/${id}`)).text());
    const twice = encoded.replaceAll("%", "%25");
    await expectProblem(app.request(`/people/${twice}`), "not-found");
  });

  const missing: readonly (readonly [title: string, path: string])[] = [
    ["an unknown id", "/people/018f0000-0000-7000-8000-000000000000"],
    ["an id of another collection", "/things/{id}"],
    ["an id in other letters", "/people/{ID}"],
    ["an id with more behind it", "/people/{id}x"],
    ["a collection in other letters", "/People/{id}"],
    ["an id that cannot be", "/people/-1"],
    ["an id that is too long", `/people/${"x".repeat(129)}`],
    ["an encoded slash", "/people%2F{id}"],
    ["an encoded slash in the id", "/people/x%2F{id}"],
    ["NUL", "/people/{id}%00"],
    ["a line break", "/people/%0d%0aSet-Cookie:x"],
    ["SQL", "/people/'%20OR%201=1--"],
    ["an empty segment", "/people//{id}"],
    ["a part that nobody stored", "/people/{id}/photo"],
    ["something unknown under /-/", "/-/nothing"],
  ];
  for (const [title, path] of missing) {
    it(`is 404 for ${title}`, async () => {
      const asked = path.replace("{id}", id).replace("{ID}", id.toUpperCase());
      const problem = await expectProblem(app.request(asked), "not-found");
      assert.equal(problem.instance, asked);
    });
  }

  for (const path of ["/people/%zz", "/people/%ff", "/people/%c3%28", "/%e0%a4/x"]) {
    it(`is 400 for ${path}`, async () => {
      await expectProblem(app.request(path), "malformed-request");
    });
  }

  it("accepts no query parameter but fields", async () => {
    const problem = await expectProblem(
      app.request(`/people/${id}?fields=name&x&page=1`),
      "invalid-parameter",
    );
    assert.deepEqual(
      problem.errors?.map(({ parameter }) => parameter),
      ["x", "page"],
    );
  });

  it("never changes anything", async () => {
    const state = async () => {
      const [one, list] = await Promise.all([app.request(`/people/${id}`), app.request("/people")]);
      return [one.headers.get("etag"), list.headers.get("etag"), await list.text()];
    };
    const earlier = await state();
    const overrides = ["x-http-method-override", "x-http-method", "x-method-override"];
    for (const method of methods) {
      for (const query of ["", "?action=delete", "?_method=DELETE", "?method=DELETE"]) {
        const headers = Object.fromEntries(overrides.map((name) => [name, "DELETE"]));
        const response = await app.request(`/people/${id}${query}`, { method, headers });
        const served = method === "OPTIONS" ? 204 : query === "" ? 200 : 400;
        assert.equal(response.status, served, `${method} ${query}`);
      }
    }
    assert.deepEqual(await state(), earlier);
  });

  it("needs the scope to read", async () => {
    const path = `/people/${id}`;
    const allowed = await app.request(path, { token: await app.token("people:read") });
    assert.equal(allowed.status, 200);
    const writer = await app.token("people:create", "things:read");
    await expectProblem(app.request(path, { token: writer }), "insufficient-scope");
    await expectProblem(app.request(path, { token: null }), "unauthenticated");
  });
});

/** Everything that comes back, up to the close. */
async function speak(method: string, path: string): Promise<Buffer> {
  const socket = connect(app.port, "127.0.0.1");
  const fields = `Host: localhost\r\nConnection: close\r\nAuthorization: Bearer ${app.admin}`;
  socket.write(`${method} ${path} HTTP/1.1\r\n${fields}\r\n\r\n`);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe("HEAD", () => {
  const addresses = ["/people/{id}", "/people", "/people?page=2&limit=10", "/people/none", "/none"];
  for (const address of addresses) {
    it(`of ${address} equals GET header for header, without a body`, async () => {
      const path = address.replace("{id}", id);
      const [head, get] = [await read("HEAD", path), await read("GET", path)];
      assert.equal(head.status, get.status);
      assert.deepEqual(head.fields, get.fields);
      assert.equal(head.bytes, 0);
      assert.deepEqual([head.dates, get.dates], [1, 1]);
      assert.ok(get.bytes > 0);
      assert.ok(get.fields.includes(`content-length: ${get.bytes}`), get.fields.join("\n"));
    });
  }

  /** Date and request id differ from response to response. */
  async function read(method: string, path: string) {
    const answer = await speak(method, path);
    const end = answer.indexOf("\r\n\r\n");
    const [status, ...lines] = answer.toString("latin1", 0, end).split("\r\n");
    const fields = lines
      .map((line) => line.replace(/^[^:]*/, (name) => name.toLowerCase()))
      .filter((line) => !/^(?:date|x-request-id):/.test(line))
      .sort();
    const dates = lines.filter((line) => /^date:/i.test(line)).length;
    return { status, fields, dates, bytes: answer.length - end - 4 };
  }
});

describe("Accept", () => {
  const taken = [
    "*/*",
    "application/*",
    "application/json",
    "APPLICATION/JSON",
    "application/json; charset=utf-8",
    "application/json; charset=utf8",
    "text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8",
    "text/html;q=1, application/json;q=0.001",
    "text/html, application/json;q=0.5, */*;q=0",
    "",
  ];
  const excluded = ["text/html", "*/*;q=0", "application/json;q=0.0", "application/jsonx"];
  const nothingElse = [
    "application/xml, text/*",
    "application/*;q=0.5, application/json;q=0",
    "*/*, application/json;q=0",
  ];
  for (const path of ["/people/{id}", "/people"]) {
    for (const accept of taken) {
      it(`returns ${path} for "${accept}"`, async () => {
        const response = await app.request(path.replace("{id}", id), { headers: { accept } });
        assert.equal(response.status, 200);
        assert.equal(response.headers.get("content-type"), "application/json");
        assert.match(response.headers.get("vary") ?? "", /\bAccept\b/i);
      });
    }
    // A list can be had as text, too, and as another application type.
    const others = path === "/people" ? ["application/xml, text/html"] : nothingElse;
    for (const accept of [...excluded, ...others]) {
      it(`is 406 at ${path} for "${accept}", with the available types`, async () => {
        const response = app.request(path.replace("{id}", id), { headers: { accept } });
        const problem = await expectProblem(response, "not-acceptable");
        assert.match(problem.detail, /application\/json/);
      });
    }
  }

  it("matters only for an existing representation", async () => {
    const headers = { accept: "text/html" };
    for (const path of ["/people/none", "/none"])
      await expectProblem(app.request(path, { headers }), "not-found");
  });

  it("is in Vary next to Origin when both matter", async () => {
    const picky = await startApp({ corsOrigins: ["https://app.example"] });
    try {
      const { id: made } = await picky.post("people", {});
      const response = await picky.request(`/people/${made}`);
      const vary = (response.headers.get("vary") ?? "").toLowerCase().split(/\s*,\s*/);
      assert.deepEqual(vary.sort(), ["accept", "accept-encoding", "origin"]);
    } finally {
      await picky.stop();
    }
  });
});
