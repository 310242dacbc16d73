// Answers that are not those of a server: cut, of another program, or of something between. Each is a problem or a retry.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { Client, type ClientOptions, etagOf, Problem } from "../../client/index.ts";
import { pauseMs } from "../../client/send.ts";
import { reasonOf } from "../../console/api/problem.ts";
import { startApp, type TestApp } from "../http/app.ts";

let app: TestApp;
before(async () => {
  app = await startApp();
});
after(() => app.stop());

const notes = (options: ClientOptions = {}) =>
  new Client(app.url, { token: app.admin, waitMs: 1, ...options }).collection("notes");

const unexpected = (): never => assert.fail("it should have failed");
const problemOf = (call: Promise<unknown>): Promise<Problem> =>
  call.then(unexpected, (error: Problem) => error);

/** A network that changes the first answers. */
function changing(...changes: ((response: Response) => Response | Promise<Response>)[]) {
  const change = async (input: string | URL | Request, init?: RequestInit) => {
    const response = await fetch(input, init);
    return (changes.shift() ?? ((same) => same))(response);
  };
  return change as typeof fetch;
}

/** One that answers by itself. */
const answering = (text: string | null, init: ResponseInit) =>
  notes({ retries: 0, fetch: (async () => new Response(text, init)) as unknown as typeof fetch });

const halfOf = async (response: Response): Promise<Response> => {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(bytes.slice(0, bytes.length / 2));
      controller.error(new TypeError("cut"));
    },
  });
  return new Response(body, { status: response.status, headers: response.headers });
};
const page = () => new Response("<title>Sign in to this network</title>");

describe("an answer that breaks off, or is that of another program", () => {
  it("is asked for again, and nothing is written twice", async () => {
    for (const fault of [halfOf, page]) {
      const again = () => notes({ fetch: changing(fault) });
      const made = await again().create({ name: "once" });
      assert.equal(await again().count(), 1);
      assert.deepEqual(await again().get(made.id), made);
      const changed = await again().update(made, { name: "twice" });
      assert.deepEqual((await again().list()).data, [changed]);
      assert.deepEqual((await again().changes()).changes.at(-1), { resource: changed });
      const replaced = await again().replace(changed, { ...changed, name: "thrice" });
      assert.deepEqual([replaced.name, etagOf(replaced) === etagOf(changed)], ["thrice", false]);
      assert.deepEqual(await again().aggregate({ aggregate: ["count"] }), [{ count: 1 }]);
      assert.deepEqual(await Array.fromAsync(again().all()), [replaced]);
      await notes().remove(replaced);
    }
  });

  it("is a problem when it does not end", async () => {
    const { name, message } = await problemOf(answering("<html>", { status: 200 }).list());
    assert.equal(name, "NoAnswer");
    assert.match(message, /^The server does not answer with JSON: ./);
    for (const text of ["", "null", "{}", "[]", "5"])
      assert.equal((await problemOf(answering(text, { status: 200 }).list())).name, "NoAnswer");
    for (const text of ["null", "[]", "{}", '"a"', '{"id":1}'])
      assert.equal((await problemOf(answering(text, { status: 200 }).get("a"))).status, 0);
    const photo = answering("<html>", { status: 200 }).file("a", "photo");
    assert.equal((await problemOf(photo.put(new Blob(["in parts"]), { partBytes: 3 }))).status, 0);
    assert.equal((await problemOf(answering(null, { status: 304 }).get("a"))).status, 0);
  });
});

describe("a problem of something between", () => {
  const bodies = [
    "",
    "null",
    "5",
    "<html>",
    '{"errors":{"name":["is wrong"]},"title":"No"}',
    '{"errors":[null,5,{"pointer":"/a"},{"pointer":1,"detail":"x"},{"detail":"right"}],"title":"No"}',
    '{"type":5,"title":{"en":"No"},"detail":[],"requestId":7,"errors":"no"}',
  ];
  it("keeps its status, and what of it is right, and can be shown", async () => {
    for (const body of bodies) {
      const problem = await problemOf(answering(body, { status: 403 }).get("a"));
      assert.deepEqual([problem.name, problem.status], ["Problem", 403], body);
      for (const text of [problem.title, problem.detail, reasonOf(problem)])
        assert.equal(typeof text, "string");
      assert.deepEqual(problem.errors, body.includes("right") ? [{ detail: "right" }] : []);
      assert.deepEqual(problem.at("/a"), []);
    }
  });
});

describe("Retry-After", () => {
  const secondsOf = (headers: Record<string, string>): number =>
    Math.floor(pauseMs(new Problem(503, {}, new Headers(headers)), 1) / 1000);
  const dateIn = (seconds: number) => new Date(Date.now() + seconds * 1000).toUTCString();
  const hour = 3_600;

  it("is in seconds, or a date by the clock of the server, and never too long for a timer", () => {
    assert.equal(secondsOf({ "retry-after": "60" }), 60);
    assert.ok(secondsOf({ "retry-after": "9999999999" }) * 1000 < 2 ** 31);
    assert.ok(Math.abs(secondsOf({ "retry-after": dateIn(2 * hour) }) - 2 * hour) < hour);
    const [date, later] = ["2020-01-01T10:00:00Z", "2020-01-01T10:01:00Z"].map((text) =>
      new Date(text).toUTCString(),
    ) as [string, string];
    assert.equal(secondsOf({ "retry-after": later, date }), 60);
    for (const text of ["soon", "-5", "Infinity", dateIn(-hour)])
      assert.equal(secondsOf({ "retry-after": text }), 0, text);
  });
});

describe("a redirect", () => {
  it("of a POST is a problem, because a GET would come of it that writes nothing", async () => {
    const moved = createServer((request, response) => {
      response.writeHead(301, { location: `${app.url}${request.url}` }).end();
    });
    await new Promise<void>((resolve) => moved.listen(0, "127.0.0.1", resolve));
    try {
      const definition = { access: { read: "public", create: "public" } };
      const path = "/-/collections/open";
      const admin = new Client(app.url, { token: app.admin });
      await admin.send({ method: "PUT", path, body: definition });
      const old = new Client(`http://127.0.0.1:${(moved.address() as AddressInfo).port}`);
      assert.deepEqual((await old.collection("open").list()).data, []);
      const problem = await problemOf(old.collection("open").create({ name: "a" }));
      assert.equal(problem.status, 301);
      assert.ok(problem.message.includes(`${app.url}/open`), problem.message);
      assert.equal(await admin.collection("open").count(), 0);
    } finally {
      moved.close();
    }
  });
});

describe("what a caller may pass", () => {
  it("no id is the path of something else", async () => {
    const made = await notes().create({ name: "here" });
    for (const id of ["", ".", "..", "\ud800"]) {
      assert.equal(await notes().find(id), undefined);
      assert.equal(await notes().remove(id), false);
      await assert.rejects(notes().get(id), { status: 404, kind: "not-found" });
      await assert.rejects(notes().replace(id, { name: "there" }), { status: 404 });
      assert.throws(() => notes().in.remove(id), { status: 404 });
      assert.throws(() => notes().file(made, id), { status: 404 });
    }
    assert.deepEqual((await notes().list()).data, [made]);
    await notes().remove(made);
  });

  it("an empty list asks for nothing", async () => {
    const made = await notes().create({ name: "a" });
    assert.deepEqual((await notes().list({ sort: [], expand: [] })).data, [made]);
    assert.deepEqual(await notes().aggregate({ aggregate: ["count"], by: [] }), [{ count: 1 }]);
    await notes().remove(made);
  });

  it("names may have commas, and many names may be asked for", async () => {
    const made = await notes().create({ "a,b": 1, n: 2 });
    const other = await notes().create({ "a,b": 0, n: 1 });
    const { data } = await notes().list({ sort: ["a,b"], fields: ["a,b"] });
    assert.deepEqual(data, [
      { id: other.id, "a,b": 0 },
      { id: made.id, "a,b": 1 },
    ]);
    const by = ["a,b", "range(n,0,2)"];
    assert.equal((await notes().aggregate({ aggregate: ["count"], by })).length, 2);
    const one = await notes().get(made.id, { fields: ["a,b"] });
    assert.deepEqual([one["a,b"], etagOf(one)], [1, etagOf(made)]);
    const names = Array.from({ length: 90 }, (_, at) => "x".repeat(60) + at);
    const few = await notes().get(made.id, { fields: ["n", ...names] });
    assert.deepEqual([few, etagOf(few)], [{ id: made.id, n: 2 }, etagOf(made)]);
    for (const each of [made, other]) await notes().remove(each);
  });

  it("a draft with the members of the server is the state that it leaves", async () => {
    const made = await notes().create({ name: "a" });
    const cut = () => {
      throw new TypeError("cut");
    };
    const changed = await notes({ fetch: changing(cut) }).replace(made, { ...made, name: "b" });
    assert.equal(changed.name, "b");
    await notes().remove(changed);
  });

  it("a signal ends a feed quietly, also in the middle of a request", async () => {
    const stop = new AbortController();
    const slow = async (_: unknown, { signal }: RequestInit) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason));
        stop.abort();
      });
    const feed = notes({ fetch: slow as never }).follow({ signal: stop.signal });
    assert.deepEqual(await Array.fromAsync(feed), []);
  });
});
