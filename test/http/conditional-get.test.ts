// Conditional GET and HEAD (RFC 9110 §13), for one resource and for a list.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { send } from "../runtime/raw-connection.ts";
import { startApp, type TestApp } from "./app.ts";
import { answerOf, expectProblem } from "./expect.ts";

let app: TestApp;
let one: string;
before(async () => {
  app = await startApp();
  one = `/people/${(await app.post("people", { name: "Ada" })).id}`;
});
after(() => app.stop());

const ask = (path: string, headers: Record<string, string>, method = "GET") =>
  answerOf(app.request(path, { method, headers }));

const imfFixdate =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d:\d\d GMT$/;

/** Both are used in every test: a resource and a list must behave alike. */
const places: Readonly<Record<string, () => string>> = {
  "a resource": () => one,
  "a list": () => "/people?page=1&limit=5",
};

for (const [place, path] of Object.entries(places)) {
  describe(`validators of ${place}`, () => {
    let etag: string;
    let lastModified: string;
    before(async () => {
      const { headers } = await ask(path(), {});
      etag = headers.get("etag") ?? "";
      lastModified = headers.get("last-modified") ?? "";
    });

    it("are a strong ETag and a Last-Modified that is not later than Date", async () => {
      for (const method of ["GET", "HEAD"]) {
        const { headers } = await ask(path(), {}, method);
        assert.match(headers.get("etag") ?? "", /^"[!#-~]+"$/);
        const modified = headers.get("last-modified") ?? "";
        const date = headers.get("date") ?? "";
        assert.match(modified, imfFixdate);
        assert.match(date, imfFixdate);
        assert.ok(Date.parse(modified) <= Date.parse(date), `${modified} > ${date}`);
      }
    });

    const matching: readonly (readonly [title: string, field: (etag: string) => string])[] = [
      ["the tag", (tag) => tag],
      ["the tag, weak", (tag) => `W/${tag}`],
      ["anything", () => "*"],
      ["a list with the tag last", (tag) => `"x", W/"y" ,${tag}`],
      ["a list with the tag first", (tag) => `${tag}, "x"`],
      ["a list with empty elements", (tag) => `, ,${tag},`],
      ["a tag with commas before it", (tag) => `"a,b", ${tag}`],
      ["a tag with a quote-like comma before it", (tag) => `"a,", ",b",${tag}`],
    ];
    for (const [title, field] of matching) {
      for (const method of ["GET", "HEAD"]) {
        it(`${method} If-None-Match with ${title} is 304`, async () => {
          const { status, body } = await ask(path(), { "if-none-match": field(etag) }, method);
          assert.equal(status, 304);
          assert.equal(body, "");
        });
      }
    }

    const other: readonly (readonly [title: string, field: (etag: string) => string])[] = [
      ["another tag", () => '"other"'],
      ["the tag without quotes", (tag) => tag.slice(1, -1)],
      ["the tag in other letters", (tag) => tag.toUpperCase().replace(/"$/, 'X"')],
      ["the start of the tag", (tag) => `${tag.slice(0, -2)}"`],
      ["an empty tag", () => '""'],
      ["the tag as a part of another, behind a comma", (tag) => `"x,${tag.slice(1)}`],
      ["the tag as a part of another, before a comma", (tag) => `${tag.slice(0, -1)},x"`],
      ["a star among others", () => '"x", *'],
      ["a star in quotes", () => '"*"'],
      ["the tag behind other text", (tag) => `garbage, ${tag}`],
      ["the tag before other text", (tag) => `${tag} garbage`],
      ["the tag without a comma", (tag) => `"x" ${tag}`],
      ["a quote without an end", (tag) => `${tag}, "x`],
    ];
    for (const [title, field] of other) {
      it(`If-None-Match with ${title} is 200`, async () => {
        assert.equal((await ask(path(), { "if-none-match": field(etag) })).status, 200);
      });
    }

    it("If-None-Match on several lines is one list", async () => {
      const { responses } = await send(
        app.port,
        `GET ${path()} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${app.admin}\r\nIf-None-Match: "x"\r\nIf-None-Match: ${etag}\r\n\r\n`,
      );
      assert.equal(responses[0]?.status, 304);
      assert.equal(responses.length, 1);
    });

    it("a 304 has the relevant headers of the 200, and none about a body", async () => {
      const full = await ask(path(), {});
      const { headers } = await ask(path(), { "if-none-match": etag });
      for (const name of ["etag", "last-modified", "cache-control", "vary"])
        assert.equal(headers.get(name), full.headers.get(name), name);
      assert.ok(headers.has("date"));
      for (const name of ["content-type", "link", "server-timing", "x-total-count"])
        assert.equal(headers.get(name), null, name);
      const length = headers.get("content-length");
      assert.ok(length === null || length === full.headers.get("content-length"), `${length}`);
    });

    const shift = (seconds: number) => new Date(Date.parse(lastModified) + seconds * 1000);
    const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
    const formats: Readonly<Record<string, (date: Date) => string>> = {
      "IMF-fixdate": (date) => date.toUTCString(),
      "RFC 850": (date) => {
        const [, day, month, year, time] = date.toUTCString().split(" ");
        return `${days[date.getUTCDay()]}, ${day}-${month}-${year?.slice(2)} ${time} GMT`;
      },
      asctime: (date) => {
        const [weekday, day, month, year, time] = date.toUTCString().split(" ");
        return `${weekday?.slice(0, 3)} ${month} ${day?.replace(/^0/, " ")} ${time} ${year}`;
      },
    };
    for (const [format, write] of Object.entries(formats)) {
      it(`If-Modified-Since as ${format}: 304 from Last-Modified on, 200 before`, async () => {
        const since = async (seconds: number) =>
          (await ask(path(), { "if-modified-since": write(shift(seconds)) })).status;
        assert.equal(await since(0), 304);
        assert.equal(await since(1), 304);
        assert.equal(await since(86_400), 304);
        assert.equal(await since(-1), 200);
        assert.equal(await since(-86_400 * 365), 200);
      });
    }

    it("an RFC 850 year that seems far in the future is in the past", async () => {
      const since = { "if-modified-since": "Sunday, 06-Nov-94 08:49:37 GMT" };
      assert.equal((await ask(path(), since)).status, 200);
    });

    const invalid = [
      "5",
      "9999999999",
      "tomorrow",
      "2999-01-01T00:00:00Z",
      "Fri, 01 Jan 2999 00:00:00",
      "Fri, 01 Jan 2999 00:00:00 CET",
      "Fri, 01 Jan 2999 00:00:00 +0000",
      "Fri, 1 Jan 2999 00:00:00 GMT",
      "Fri, 01 jan 2999 00:00:00 GMT",
      "Fri, 01 Foo 2999 00:00:00 GMT",
      "Fri, 31 Feb 2999 00:00:00 GMT",
      "Fri, 00 Jan 2999 00:00:00 GMT",
      "Fri, 01 Jan 2999 24:00:00 GMT",
      "Fri, 01 Jan 2999 00:60:00 GMT",
      "Fri, 01 Jan 2999 00:00:61 GMT",
      "Fri, 01 Jan 2999 00:00:00 GMT, Fri, 01 Jan 2999 00:00:00 GMT",
    ];
    for (const date of invalid) {
      it(`the invalid date "${date}" is ignored`, async () => {
        assert.equal((await ask(path(), { "if-modified-since": date })).status, 200);
      });
    }

    it("If-None-Match takes precedence over If-Modified-Since", async () => {
      const later = shift(86_400).toUTCString();
      const earlier = shift(-86_400).toUTCString();
      const both = async (tag: string, since: string) =>
        (await ask(path(), { "if-none-match": tag, "if-modified-since": since })).status;
      assert.equal(await both('"other"', later), 200);
      assert.equal(await both(etag, earlier), 304);
    });

    it("do not matter before authentication, authorization, parameters and existence", async () => {
      const headers = { "if-none-match": "*" };
      await expectProblem(app.request(path(), { headers, token: null }), "unauthenticated");
      const token = await app.token("things:read");
      await expectProblem(app.request(path(), { headers, token }), "insufficient-scope");
      const unknown = `${path()}${path().includes("?") ? "&" : "?"}x[y]=1`;
      await expectProblem(app.request(unknown, { headers }), "invalid-parameter");
      const html = { ...headers, accept: "text/html" };
      await expectProblem(app.request(path(), { headers: html }), "not-acceptable");
      const options = await app.request(path(), { method: "OPTIONS", headers });
      assert.equal(options.status, 204);
    });
  });
}

describe("conditions on a missing resource", () => {
  for (const path of ["/people/none", "/none"]) {
    it(`${path} is 404 also for If-None-Match: *`, async () => {
      await expectProblem(app.request(path, { headers: { "if-none-match": "*" } }), "not-found");
    });
  }
});

describe("a change", () => {
  it("changes the ETag of every page of a list, and keeps that of other resources", async () => {
    const made = await app.post("changing", { n: 1 });
    const pages = [
      "/changing",
      "/changing?page=1&limit=1",
      "/changing?page=9",
      "/changing?sort=-createdAt",
    ];
    const tags = (paths: readonly string[]) =>
      Promise.all(paths.map(async (path) => (await ask(path, {})).headers.get("etag") ?? ""));
    const [earlier, [own]] = [await tags(pages), await tags([`/changing/${made.id}`])];
    await app.post("changing", { n: 2 });
    for (const [index, path] of pages.entries()) {
      const { status, headers } = await ask(path, { "if-none-match": earlier[index] ?? "" });
      assert.equal(status, 200, path);
      assert.notEqual(headers.get("etag"), earlier[index]);
    }
    assert.deepEqual(await tags([`/changing/${made.id}`]), [own]);
  });

  it("in one collection does not change the list of another", async () => {
    const { headers } = await ask("/people", {});
    await app.post("changing", {});
    const { status } = await ask("/people", { "if-none-match": headers.get("etag") ?? "" });
    assert.equal(status, 304);
  });

  it("never sets Last-Modified later than Date", async () => {
    // The clock of a runtime's Date field may tick late; a second's turn has to be among the tries.
    for (let tries = 0, end = Date.now() + 1100; Date.now() < end; tries++) {
      const made = await app.request("/dated", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: `{"n":${tries}}`,
      });
      const list = await app.request("/dated?limit=1");
      for (const { headers } of [made, list]) {
        const [modified, date] = [headers.get("last-modified"), headers.get("date")];
        assert.ok(Date.parse(modified ?? "") <= Date.parse(date ?? ""), `${modified} > ${date}`);
      }
      await Promise.all([made.text(), list.text()]);
      await sleep(10);
    }
  });
});
