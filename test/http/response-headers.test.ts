// Every response has only the headers of its own request, even when responses share a cached page.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApp, type TestApp } from "./app.ts";

const origins = ["https://one.example", "https://two.example"] as const;
const proxy = "10.0.0.1";
const base = "https://api.example";

let app: TestApp;
before(async () => {
  app = await startApp({ corsOrigins: [...origins], baseUrl: base, trustProxy: [proxy] });
  const access = { read: "public" };
  await put("/-/collections/notes", { access, cache: { maxAge: 60 } });
  await put("/-/collections/others", { access, cache: { maxAge: 30 } });
  await put("/others/a", {});
  const text = "many words ".repeat(200);
  for (const id of ["a", "b", "c"]) await put(`/notes/${id}`, { id, text });
});
after(() => app.stop());

async function put(path: string, value: unknown): Promise<void> {
  const headers = { "content-type": "application/json" };
  const answer = await app.request(path, { method: "PUT", headers, body: JSON.stringify(value) });
  assert.equal(answer.status, 201, await answer.text());
}

/** As from behind the proxy, whatever the runtime does with a Host. */
async function send(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const request = new Request(base + path, {
    method,
    headers,
  });
  return app.direct(request, proxy);
}

const paths = ["/notes/a", "/notes", "/notes?limit=2", "/notes?since=0", "/-/openapi.json", "/"];
const codings = ["identity", "gzip", "br"];
const origin = [undefined, ...origins, "https://other.example"];
const protocols = ["https", "http"];

/** Each path with each coding, origin and protocol, in an order in which neighbours differ. */
const asked = paths.flatMap((path) =>
  codings.flatMap((coding) =>
    origin.flatMap((from) =>
      protocols.flatMap((protocol) =>
        ["GET", "HEAD"].map((method) => ({ path, coding, from, protocol, method })),
      ),
    ),
  ),
);
type Asked = (typeof asked)[number];

const fieldsOf = ({ coding, from, protocol }: Asked): Record<string, string> => ({
  "accept-encoding": coding,
  "x-forwarded-proto": protocol,
  "x-forwarded-for": "192.0.2.1",
  ...(from === undefined ? {} : { origin: from }),
});

function assertOwn(answer: Response, { path, coding, from, protocol }: Asked): void {
  const words = `${path} ${coding} ${from} ${protocol}`;
  const { status, headers } = answer;
  const isKnown = from !== undefined && (origins as readonly string[]).includes(from);
  const allowed = headers.get("access-control-allow-origin");
  assert.equal(allowed, isKnown ? from : null, `the origin of ${words}`);
  assert.equal(headers.has("strict-transport-security"), protocol === "https", `HSTS of ${words}`);
  const encoded = headers.get("content-encoding");
  assert.ok(encoded === null || encoded === coding, `the coding of ${words} is ${encoded}`);
  // What is not encrypted gets no data here, but the pages that everyone may see.
  const rejected = protocol === "http" ? [403] : [];
  assert.ok([200, 304, ...rejected].includes(status), `${words}: ${status}`);
}

describe("requests with different origins, codings and protocols", () => {
  it("get their own headers, one after another, three times", async () => {
    for (let round = 0; round < 3; round++)
      for (const one of asked) assertOwn(await send(one.method, one.path, fieldsOf(one)), one);
  });

  it("get their own headers and request ids when all run at once", async () => {
    const answers = await Promise.all(
      asked.map(async (one) => ({ one, answer: await send(one.method, one.path, fieldsOf(one)) })),
    );
    for (const { one, answer } of answers) assertOwn(answer, one);
    const ids = new Set(answers.map(({ answer }) => answer.headers.get("x-request-id")));
    assert.equal(ids.size, asked.length);
  });

  it("get the values of their own collection, one after another", async () => {
    for (let round = 0; round < 3; round++)
      for (const [name, maxAge] of [
        ["notes", 60],
        ["others", 30],
      ] as const)
        for (const path of [`/${name}/a`, `/${name}`]) {
          const { headers } = await send("GET", path, { "x-forwarded-proto": "https" });
          assert.equal(headers.get("cache-control"), `public, max-age=${maxAge}`, path);
        }
  });

  it("have the length of an empty body, which Node would send in chunks", async () => {
    const { status, headers } = await send("GET", "/notes/a/", { "x-forwarded-proto": "https" });
    assert.deepEqual([status, headers.get("content-length")], [308, "0"]);
    const { headers: unchanged } = await send("GET", "/notes/a", { "if-none-match": "*" });
    assert.equal(unchanged.get("content-length"), null);
  });

  it("get request ids that do not say how many requests others have sent", async () => {
    const ids: string[] = [];
    for (let count = 0; count < 600; count++)
      ids.push((await send("GET", "/", {})).headers.get("x-request-id") ?? "");
    assert.equal(new Set(ids).size, ids.length);
    const digits = ids.map((id) => [...id]);
    assert.ok(digits.every(({ length }) => length === 16));
    assert.equal(new Set(ids.map((id) => id.slice(0, 5))).size, 1, "those of the process");
    // No other digit stays the same or goes on by one.
    for (let place = 5; place < 16; place++) {
      const used = new Set(digits.map((digit) => digit[place]));
      assert.equal(used.size, 16, `digit ${place}`);
      const steps = digits.slice(1).map((digit, index) => {
        const [one, next] = [digits[index]?.[place] ?? "", digit[place] ?? ""];
        return Number.parseInt(next, 16) - Number.parseInt(one, 16);
      });
      assert.ok(new Set(steps).size > 20, `steps of digit ${place}`);
    }
  });

  it("get their own headers with a 304", async () => {
    for (const path of paths) {
      const plain = await send("GET", path, { "accept-encoding": "identity" });
      const etag = plain.headers.get("etag") ?? "";
      for (const one of asked.filter((each) => each.path === path)) {
        const answer = await send(one.method, path, { ...fieldsOf(one), "if-none-match": etag });
        assertOwn(answer, one);
        assert.ok(answer.status === 304 || one.protocol === "http", path);
      }
    }
  });
});
