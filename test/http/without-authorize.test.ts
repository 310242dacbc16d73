// Every handler is called without the check of its route before it: the domain rejects the caller all the same.
// @process own

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { RequestContext, type Services } from "../../src/http/request/context.ts";
import type { Route } from "../../src/http/request/route.ts";
import { routes } from "../../src/http/routes.ts";
import { responseOf } from "../../src/lib/reply.ts";
import { anonymous, type Principal } from "../../src/model/principal.ts";
import { Problem } from "../../src/model/problem.ts";
import { startApp, type TestApp } from "./app.ts";
import { file, form, text } from "./multipart.ts";

/** Routes that answer everyone, and what of. */
const open: Readonly<Record<string, string>> = {
  listActions: "lists the actions that the caller may run",
  getRights: "says what the caller may do",
  getResourceRights: "says what the caller may do",
  getUpload: "finds only uploads of the caller",
  appendToUpload: "finds only uploads of the caller",
  deleteUpload: "finds only uploads of the caller",
  getOpenapi: "describes what the caller may use",
  getCaller: "says who the caller is",
  endCredential: "ends what the caller has sent",
  getMetrics: "has no data of the domain; the route checks the scope",
};

interface Body {
  readonly type: string;
  readonly content: string | Uint8Array<ArrayBuffer>;
}

const json = (value: unknown): Body => ({
  type: "application/json",
  content: JSON.stringify(value),
});

/** Bodies that each of these routes would accept from a caller with the scope. */
const bodies: Readonly<Record<string, readonly Body[]>> = {
  createResource: [
    json({ n: 2 }),
    { type: "application/x-ndjson", content: '{"n":2}\n{"n":3}\n' },
    { type: "text/csv", content: "n\n2\n" },
    { type: "application/x-www-form-urlencoded", content: "n=2" },
    { type: "text/plain", content: "bytes" },
    formBody(),
  ],
  importResources: [
    { type: "application/x-ndjson", content: '{"n":2}\n{"n":3}\n' },
    { type: "text/csv", content: "n\n2\n" },
  ],
  upsertResource: [json({ n: 2 })],
  putResource: [json({ n: 2 }), formBody()],
  patchResource: [
    json({ n: 2 }),
    { type: "application/json-patch+json", content: '[{"op":"add","path":"/n","value":2}]' },
    { type: "application/vnd.restante.operations+json", content: '{"increment":{"n":1}}' },
    formBody(),
  ],
  putFile: [{ type: "text/plain", content: "bytes" }],
  queryResources: [json({ limit: 1 })],
  runBatch: [json({ operations: [{ method: "PUT", path: "/people/a", body: { n: 2 } }] })],
  runAction: [json({})],
  putCollection: [json({})],
  putDefinition: [json({})],
  putAccessDocument: [json({ roles: {} })],
  explainAccess: [json({ collection: "people", verb: "read" })],
  signUrl: [json({ path: "/people/a/photo" })],
  createToken: [json({ name: "t", scopes: ["admin"] })],
};

function formBody(): Body {
  const { headers, body } = form([text("n", "2"), file("photo", "b.txt", "bytes", "text/plain")]);
  return { type: headers["content-type"] ?? "", content: body };
}

const withScopes = (...scopes: readonly string[]): Principal => {
  return { kind: "token", subject: "someone", scopes, roles: [], credential: undefined };
};

/** The parameters of the path of each route. */
const paramsOf = ({ path }: Route): Readonly<Record<string, string>> => ({
  ...(path.includes("{collection}") && { collection: "people" }),
  ...(path.includes("{id}") && { id: "a" }),
  ...(path.includes("{name}") && { name: nameIn(path) }),
});

const nameIn = (path: string): string =>
  path.startsWith("/-/actions") ? "ring" : path.startsWith("/{collection}") ? "photo" : "people";

describe("a handler without the check of its route", () => {
  let folder: string;
  let app: TestApp;
  let services: Services;
  let stored: string;

  const state = async () => {
    const answers = ["/people", "/-/collections", "/-/access", "/-/tokens"].map(async (path) =>
      (await app.request(path)).text(),
    );
    return (await Promise.all(answers)).join("\n").replaceAll(/"usedAt":"[^"]*"/g, "");
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "restante-"));
    await writeFile(
      join(folder, "ring.ts"),
      'export const description = "Rings."; export const input = {}; export const run = () => ({});',
    );
    app = await startApp({ actions: folder });
    const { headers, body } = form([file("photo", "a.txt", "bytes", "text/plain")]);
    const made = await app.request("/people/a", { method: "PUT", headers, body });
    assert.equal(made.status, 201);
    // The services are those of any request.
    const release = RequestContext.prototype.releaseMemory;
    RequestContext.prototype.releaseMemory = function (this: RequestContext) {
      services = this.services;
      release.call(this);
    };
    stored = await state();
    RequestContext.prototype.releaseMemory = release;
  });
  after(async () => {
    await app.stop();
    await rm(folder, { recursive: true });
  });

  async function handle(route: Route, principal: Principal, sent: Body | undefined) {
    const params = paramsOf(route);
    const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name) => params[name] ?? "");
    const query = route.method === "PUT" && route.path === "/{collection}" ? "n=1" : "";
    const request = new Request(`http://localhost${path}?${query}`, {
      method: route.method,
      ...(sent && { body: sent.content }),
      headers: sent
        ? { "content-type": sent.type, "content-length": `${Buffer.byteLength(sent.content)}` }
        : {},
    });
    const context = new RequestContext(services, request, "a");
    Object.assign(context, { path, query, params, principal });
    if (params.collection !== undefined)
      context.collection = await services.access.collection(principal, params.collection);
    const answer = await route.handler(context);
    if (answer instanceof Problem) return [answer.kind];
    // Lines are answered one by one.
    const lines = answer.status === 200 ? (await responseOf(answer).text()).trim().split("\n") : [];
    return lines.map((line) => JSON.parse(line).problem?.type.replace(/^.*\//, "") ?? line);
  }

  it("is called for every route that is listed here", () => {
    const listed = [...Object.keys(open), ...Object.keys(bodies)];
    assert.deepEqual(
      listed.filter((name) => !Object.hasOwn(routes, name)),
      [],
    );
  });

  for (const [name, route] of Object.entries(routes)) {
    if (route.permission === "anyone" || Object.hasOwn(open, name)) continue;
    it(`of ${name} rejects callers without the scope`, async () => {
      for (const sent of bodies[name] ?? [undefined]) {
        const what = sent?.type ?? route.method;
        const forNobody = await handle(route, anonymous, sent);
        assert.deepEqual([...new Set(forNobody)], ["unauthenticated"], what);
        const forOthers = await handle(route, withScopes("others:*"), sent);
        assert.deepEqual([...new Set(forOthers)], ["insufficient-scope"], what);
      }
      assert.equal(await state(), stored);
    });
  }
});
