// Starts a whole server on a real socket, with temporary data and an admin token.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { serve } from "#runtime";
import { wholeDocument } from "../../src/http/openapi/document.ts";
import { routes } from "../../src/http/routes.ts";
import { version } from "../../src/lib/program.ts";
import { responseOf } from "../../src/lib/reply.ts";
import { system } from "../../src/model/principal.ts";
import { loadActions } from "../../src/server/actions-folder.ts";
import { assemble } from "../../src/server/app.ts";
import { type Config, readConfig } from "../../src/server/config.ts";
import { makeFirstToken } from "../../src/server/first-token.ts";
import { createLog, type Log } from "../../src/server/log.ts";
import { apiBaseOf, apiPathOf } from "../../src/server/places.ts";
import type { CommitOwner, Committer } from "../../src/store/remote-committer.ts";
import { PostgresServer } from "../postgres-server.ts";
import { type Document, ResponseChecker } from "./openapi-document.ts";

export interface TestApp {
  readonly port: number;
  readonly url: string;
  /** An admin secret. */
  readonly admin: string;
  /**
   * `fetch` on a path of the API, by default with the admin token (`token: null` sends none). The response must
   * match the OpenAPI document.
   */
  request(path: string, init?: RequestInit & { token?: string | null }): Promise<Response>;
  /** The same without a socket, for methods and peers that a client cannot use. */
  direct(request: Request, peerAddress?: string): Promise<Response>;
  /** POSTs JSON and expects 201. */
  post(collection: string, fields: unknown): Promise<Record<string, unknown>>;
  /** Returns the secret of a new token with these scopes. */
  token(...scopes: string[]): Promise<string>;
  /** Returns a new code that signs the console in. */
  code(): Promise<string>;
  total(collection: string): Promise<number>;
  /** Changes settings, as a reload does. */
  reload(changes: Partial<Config>): void;
  /** Writes for another app on the same folder. */
  readonly writer: CommitOwner;
  stop(): Promise<void>;
}

let postgres: Promise<PostgresServer> | undefined;
after(async () => {
  await (await postgres)?.close();
  postgres = undefined;
});

/** Returns the URL of a new database when the store is `postgres`. A test that uses a data folder has the embedded store. */
async function databaseFor({ store, data }: Partial<Config>): Promise<string | undefined> {
  const chosen = data === undefined ? process.env.RESTANTE_TEST_STORE : undefined;
  if ((store ?? chosen) !== "postgres") return store;
  postgres ??= PostgresServer.shared();
  return (await postgres).preparedDatabase();
}

/** Only what a GET returns may be cached. */
function checkCaching({ method, target }: { method: string; target: string }, caching: unknown) {
  const isRead = method === "GET" || method === "HEAD";
  if (isRead) assert.ok(caching, `${method} ${target}: no Cache-Control`);
  else assert.equal(caching, "no-store", `${method} ${target}: Cache-Control`);
}

/** A path leads nowhere else, however a browser resolves it. */
function checkLocation(url: string, location: string | null): void {
  if (location === null || /^https?:/.test(location)) return;
  assert.equal(new URL(location, url).origin, url, `Location: ${location}`);
}

/** With a committer it is a worker: another app owns the folder. The log is silent unless one is given; RESTANTE_TEST_STORE=postgres tries all of it on Postgres. */
export async function startApp(
  changes: Partial<Config> = {},
  log?: Log,
  committer?: Committer,
): Promise<TestApp> {
  const store = await databaseFor(changes);
  const data = await mkdtemp(join(tmpdir(), "restante-"));
  const config = readConfig({ flags: {}, environment: {}, cwd: data });
  if (Array.isArray(config)) throw new Error("the defaults must be valid");
  const settled = {
    ...(config as Config),
    ...{ data, logLevel: "silent" as const },
    // Scans take more than the 10 s of a server where many test files run at once.
    queryDeadline: 100,
    // The tests use the address, whatever the base URL is.
    ...(changes.baseUrl === undefined ? {} : { allowedHosts: ["127.0.0.1", "localhost"] }),
    ...{ ...changes, store },
  };
  const actions = await loadActions(settled);
  const app = await assemble(settled, log ?? createLog(settled.logLevel), committer, actions);
  const server = await serve({
    host: "127.0.0.1",
    port: 0,
    fetch: app.fetch,
    errorResponse: app.errorResponse,
    maxHeaderBytes: 16_384,
  });
  const made = await makeFirstToken(app.tokens, settled.adminToken);
  const admin = made ?? settled.adminToken ?? "";
  const url = `http://127.0.0.1:${server.port}`;

  const checker = new ResponseChecker(async () => {
    const { maxBodyBytes } = settled;
    const base = apiBaseOf(settled);
    const { collections } = await app.collections.usable(system);
    const settings = { base, version, contract: "", maxBodyBytes };
    return wholeDocument(routes, settings, collections, actions) as unknown as Document;
  });

  const request: TestApp["request"] = async (path, { token = admin, ...init } = {}) => {
    const headers = new Headers(init.headers);
    if (token !== null && !headers.has("authorization")) {
      headers.set("authorization", `Bearer ${token}`);
    }
    const response = await fetch(url + apiPathOf(settled) + path, {
      redirect: "manual",
      ...init,
      headers,
    });
    const asked = { method: init.method ?? "GET", target: path };
    checkCaching(asked, response.headers.get("cache-control"));
    checkLocation(url, response.headers.get("location"));
    // A copy of a whole body costs less than a clone of its stream.
    const bytes = await response.arrayBuffer();
    const { status, statusText, headers: fields } = response;
    const body = new TextDecoder().decode(bytes);
    await checker.check(asked, { status, headers: fields, body });
    const hasNoBody = [204, 205, 304].includes(status);
    return new Response(hasNoBody ? null : bytes, { status, statusText, headers: fields });
  };

  return {
    port: server.port,
    url,
    admin,
    request,
    writer: app.writer,
    reload: (more) => app.reload({ ...settled, ...more }, actions),
    direct: async (request, peerAddress = "") =>
      responseOf(await app.fetch(request, { peerAddress: () => peerAddress })),
    async post(collection, fields) {
      const response = await request(`/${collection}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(fields),
      });
      if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
      return (await response.json()) as Record<string, unknown>;
    },
    async token(...scopes) {
      const made = await app.tokens.create(system, { name: "test", scopes, expiresAt: null });
      if (!("secret" in made)) throw new Error(made.detail);
      return made.secret;
    },
    async code() {
      const code = await app.tokens.createCode(system);
      return typeof code === "string" ? code : assert.fail(code.detail);
    },
    async total(collection) {
      const response = await request(`/${collection}`);
      if (response.status === 404) return 0;
      return ((await response.json()) as { total: number }).total;
    },
    async stop() {
      await server.stop(1000);
      await app.close();
      await rm(data, { recursive: true, force: true });
    },
  };
}
