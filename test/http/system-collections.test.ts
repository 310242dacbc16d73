// Collections of the server's own data: no address reaches them, and nothing shows them.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { routes } from "../../src/http/routes.ts";
import type { Outcome, ResourceChange } from "../../src/store/store.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";

const name = "-probe";
/** Nothing has this name, which is as long. */
const absent = "-absen";
const [at, id] = [1_000, "r1"];

/** Each leads to the name where a part of the server decodes, trims or folds what it compares. */
const spellings: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => name.replace("-", "%2D"),
  (name) => name.replace("-", "%2d"),
  (name) => name.replace("-", "%252d"),
  (name) => `${name}%20`,
  (name) => `%00${name}`,
  (name) => name.toUpperCase(),
  (name) => `people%2f..%2f${name}`,
];

/** A body in which a name can stand. */
const bodies: readonly (readonly [
  target: string,
  method: string,
  body: (name: string) => unknown,
])[] = [
  [
    "/-/batch",
    "POST",
    (name) => ({ operations: [{ method: "PUT", path: `/${name}/${id}`, body: {} }] }),
  ],
  [
    "/-/batch",
    "POST",
    (name) => ({ operations: [{ method: "POST", path: `/${name}`, body: {} }] }),
  ],
  ["/-/access", "QUERY", (name) => ({ collection: name, verb: "read" })],
  ["/-/access", "PUT", (name) => ({ sets: { a: { collection: name, where: {}, field: "b" } } })],
  ["/-/collections/other", "PUT", (name) => ({ references: { a: { collection: name } } })],
  [
    "/-/collections/other",
    "PUT",
    (name) => ({
      access: { read: [{ name: "a", to: "token", where: { some: { collection: name } } }] },
    }),
  ],
];

for (const store of storesHere("sqlite", ["sqlite", "postgres"]))
  describe(`a system collection, on ${store}`, () => {
    let app: TestApp;
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      await app.post("people", { name: "Ada" });
      const fields = '{"holder":"probe","text":"seen"}';
      const put = { kind: "put", collection: name, id, fields, at, expect: "nothing" } as const;
      await app.writer.commit([{ ...put, createsCollection: true }]);
    });
    after(() => app.stop());

    const send = async (
      [method, target, body]: readonly [string, string, unknown?],
      token: string | null,
      sent: string,
    ): Promise<unknown> => {
      const hasBody = !["GET", "HEAD", "DELETE"].includes(method);
      const init = hasBody ? { body: JSON.stringify(body ?? {}) } : {};
      const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
      if (token === null) Reflect.deleteProperty(headers, "authorization");
      const response = await fetch(app.url + target, {
        method,
        headers,
        redirect: "manual",
        ...init,
      });
      const text = (await response.text())
        .replace(/"(requestId|instance)":"[^"]*"/g, "")
        .replaceAll(sent, "*")
        .replaceAll(decodeURIComponent(sent), "*");
      return [response.status, text.replaceAll(name, "*").replaceAll(absent, "*")];
    };

    const requestsTo = (spelled: string): readonly (readonly [string, string])[] =>
      Object.values(routes).flatMap(({ method, path }): readonly (readonly [string, string])[] => {
        if (!/\{(collection|name)\}/.test(path)) return [];
        const target = path
          .replace(/\{(collection|name)\}/, spelled)
          .replace("{id}", id)
          .replace(/\{\w+\}/g, "text");
        const also = method === "DELETE" ? [[method, `${target}?confirm=${spelled}`] as const] : [];
        return [[method, target], ...also];
      });

    it("is answered as a name that nothing has, by every route and in every spelling", async () => {
      const callers = [app.admin, null, await app.token("*:*")];
      for (const [caller, token] of callers.entries())
        for (const spell of caller === 0 ? spellings : spellings.slice(0, 1))
          for (const [index, request] of requestsTo(spell(name)).entries()) {
            const other = requestsTo(spell(absent))[index] ?? request;
            assert.deepEqual(
              await send(request, token, spell(name)),
              await send(other, token, spell(absent)),
              request.join(" "),
            );
          }
    });

    it("is named by no body", async () => {
      for (const [target, method, body] of bodies)
        assert.deepEqual(
          await send([method, target, body(name)], app.admin, name),
          await send([method, target, body(absent)], app.admin, absent),
          `${method} ${target}`,
        );
    });

    it("is in no list and no document", async () => {
      for (const path of ["/", "/-/collections", "/-/openapi.json", "/-/metrics", "/-/queries"]) {
        const text = await (await app.request(path)).text();
        assert.ok(!text.includes("probe"), path);
      }
    });

    it("was not written by any of these requests", async () => {
      const remove: ResourceChange = {
        kind: "remove",
        collection: name,
        id,
        at,
        expect: "anything",
      };
      const [outcome] = await app.writer.commit([remove]);
      // The collection has the first revision, and the resource the second.
      assert.deepEqual(outcome, { kind: "removed", revision: 3 } satisfies Outcome);
    });
  });
