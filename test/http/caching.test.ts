// Cache-Control (RFC 9111) and Accept (RFC 9110 §12).

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { send } from "../runtime/raw-connection.ts";
import { startApp, type TestApp } from "./app.ts";
import { requestEverything, type SampleResponse } from "./every-response.ts";
import { answerOf, assertProblem, expectProblem } from "./expect.ts";

let app: TestApp;
let stops: readonly SampleResponse[];
before(async () => {
  app = await startApp();
  stops = await requestEverything(app);
});
after(() => app.stop());

const isError = ({ status }: SampleResponse) => status >= 400;
const at = (start: string) => {
  const found = stops.filter(({ asked }) => asked.startsWith(start));
  assert.ok(found.length > 0, start);
  return found;
};

describe("caching", () => {
  it("every response has an explicit Cache-Control", () => {
    const directive = /^(?:no-store|no-cache|private|public|immutable|max-age=\d+)$/;
    for (const { asked, headers } of stops) {
      const directives = (headers.get("cache-control") ?? "").split(", ");
      for (const word of directives) assert.match(word, directive, asked);
      assert.equal(headers.get("pragma"), null);
      assert.equal(headers.get("warning"), null);
    }
  });

  it("no cache stores an error", () => {
    const rejections = stops.filter(isError);
    assert.ok(rejections.length >= 12);
    for (const { asked, headers } of rejections) {
      assert.equal(headers.get("cache-control"), "no-store", asked);
    }
  });

  it("responses that depend on a token are for private caches, with revalidation", () => {
    for (const { asked, status, headers } of at("GET /people")) {
      if (status === 200 || status === 304) {
        assert.equal(headers.get("cache-control"), "private, no-cache", asked);
      }
    }
    for (const { asked, headers } of stops) {
      assert.ok(!/s-maxage|must-revalidate/.test(headers.get("cache-control") ?? ""), asked);
    }
  });

  it("nothing about tokens or definitions is stored or public", () => {
    for (const place of ["GET /-/tokens", "POST /-/tokens", "GET /-/collections"]) {
      for (const { asked, headers } of at(place)) {
        assert.equal(headers.get("cache-control"), "no-store", asked);
      }
    }
  });

  it("the response to a change is not fresh", () => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      for (const { asked, headers } of at(`${method} `)) {
        assert.equal(headers.get("cache-control"), "no-store", asked);
      }
    }
  });

  it("only what is the same for everyone is public", () => {
    const open = stops.filter(({ headers }) => /public/.test(headers.get("cache-control") ?? ""));
    assert.deepEqual(
      open.map(({ asked }) => asked),
      [
        ...["GET /-/console → 200", "GET /-/console/icon.svg → 200", "GET /-/docs → 200"],
        ...["GET /-/created → 200", "GET /-/problems → 200", "GET /-/problems/not-found → 200"],
      ],
    );
  });

  it("every response has a Date and none has an Age", () => {
    for (const { asked, headers } of stops) {
      assert.ok(!Number.isNaN(Date.parse(headers.get("date") ?? "")), asked);
      assert.equal(headers.get("age"), null, asked);
    }
  });

  it("a response that depends on Accept has Vary, also a 304", () => {
    const negotiated = stops.filter(
      ({ asked, status, headers }) =>
        // The bytes of a file are what they are.
        !/\/file(?:\.1)? /.test(asked) &&
        // Prometheus gets the one format, whatever it accepts.
        !asked.startsWith("GET /-/metrics") &&
        (status === 304 || (status < 300 && headers.has("content-type"))),
    );
    assert.ok(negotiated.length > 10);
    for (const { asked, headers } of negotiated) {
      assert.ok((headers.get("vary") ?? "").split(", ").includes("Accept"), asked);
    }
  });
});

describe("Accept", () => {
  const ask = (path: string, accept: string, init: RequestInit = {}) =>
    answerOf(app.request(path, { ...init, headers: { ...init.headers, accept } }));

  const jsonAddresses = ["/", "/people", "/-/tokens", "/-/health", "/-/ready", "/-/openapi.json"];

  /** At the root, who prefers HTML is sent to the console. */
  const isForConsole = (path: string, accept: string) =>
    path === "/" && accept.startsWith("text/html");

  it("that includes JSON in any way gets JSON", async () => {
    const takers = [
      "*/*",
      "application/json",
      "application/*",
      "text/html, application/json;q=0.1",
      "text/html;q=0.9, */*;q=0.01",
      "APPLICATION/JSON",
      "application/json;q=0.5, application/*;q=0",
      "*/*;q=0, application/json",
    ];
    for (const path of jsonAddresses) {
      for (const accept of takers.filter((each) => !isForConsole(path, each))) {
        const { status, headers } = await ask(path, accept);
        assert.equal(status, 200, `${path}, Accept: ${accept}`);
        assert.equal(headers.get("content-type"), "application/json");
      }
    }
  });

  it("that is absent gets JSON", async () => {
    const head = `GET /people HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.admin}\r\n\r\n`;
    const { responses } = await send(app.port, head);
    assert.equal(responses[0]?.status, 200);
    assert.equal(responses[0]?.headers["content-type"], "application/json");
  });

  it("that excludes JSON is rejected with the available types, in JSON", async () => {
    const refusers = [
      "text/html",
      "image/*",
      "application/xml, text/plain;q=0.5",
      "application/*;q=0.5, application/json;q=0",
      "application/json;q=0",
      "*/*;q=0",
    ];
    for (const path of jsonAddresses) {
      // A list can be had as other application types, too.
      const isList = path === "/people";
      for (const accept of refusers.filter(
        (each) => !(isList && each.startsWith("application/*")) && !isForConsole(path, each),
      )) {
        const { detail } = assertProblem(await ask(path, accept), "not-acceptable");
        assert.ok(detail.includes("application/json"), `${path}, Accept: ${accept}`);
      }
    }
  });

  it("that is too long is rejected before it is parsed", async () => {
    const long = Array.from({ length: 300 }, (_, at) => `a/b${at}`).join();
    for (const path of jsonAddresses) {
      const { detail } = assertProblem(await ask(path, long), "header-too-large");
      assert.match(detail, /^Accept has \d+ characters; at most 1000/);
    }
    const answer = await ask("/people", `${long.slice(0, 900)},application/json`);
    assert.equal(answer.status, 200);
    const headers = { "accept-encoding": `gzip,${"a,".repeat(1_000)}` };
    const { detail } = assertProblem(
      await ask("/people", "application/json", { headers }),
      "header-too-large",
    );
    assert.match(detail, /^Accept-Encoding /);
  });

  it("is checked before anything is created", async () => {
    const json = { "content-type": "application/json" };
    const total = await app.total("people");
    const tokens = await (await app.request("/-/tokens")).text();
    const post = (path: string, body: string) =>
      ask(path, "text/csv", { method: "POST", headers: json, body });
    assertProblem(await post("/people", '{"name":"Ada"}'), "not-acceptable");
    assertProblem(await post("/-/tokens", '{"name":"n","scopes":["admin"]}'), "not-acceptable");
    assert.equal(await app.total("people"), total);
    assert.equal(await (await app.request("/-/tokens")).text(), tokens);
  });

  it("of a page is HTML, and of the API catalog a linkset", async () => {
    assert.equal((await ask("/-/problems", "text/html,application/xhtml+xml")).status, 200);
    assertProblem(await ask("/-/problems", "application/json"), "not-acceptable");
    assert.equal((await ask("/.well-known/api-catalog", "application/linkset+json")).status, 200);
    await expectProblem(
      app.request("/.well-known/api-catalog", { headers: { accept: "application/json" } }),
      "not-acceptable",
    );
  });

  it("does not matter for an error", async () => {
    assertProblem(await ask("/people/no-such-id", "application/json"), "not-found");
    const answer = await ask("/people?limit=0", "text/html");
    assertProblem(answer, "invalid-parameter");
  });

  it("of codings does not encode a small response", async () => {
    for (const coding of ["gzip, br", "identity", "*"]) {
      const { status, headers } = await app.request("/people?limit=1", {
        headers: { "accept-encoding": coding },
      });
      assert.equal(status, 200);
      assert.equal(headers.get("content-encoding"), null);
    }
  });
});
