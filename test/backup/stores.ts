// Apps with all kinds of data, to be backed up and restored on every engine.

import assert from "node:assert/strict";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Track } from "../../src/backup/track.ts";
import { backUp, restore } from "../../src/server/backups.ts";
import { type Config, readConfig } from "../../src/server/config.ts";
import { startApp, type TestApp } from "../http/app.ts";
import type { PostgresServer } from "../postgres-server.ts";

export type EngineName = "sqlite" | "postgres";

export const noTrack: Track = () => ({ add: () => undefined, done: () => undefined });

/** A folder for one test, and the stores and backups in it. */
export class Place {
  readonly folder: string;
  readonly #postgres: () => Promise<PostgresServer>;
  readonly #databases: string[] = [];
  #count = 0;

  private constructor(folder: string, postgres: () => Promise<PostgresServer>) {
    this.folder = folder;
    this.#postgres = postgres;
  }

  static async run(
    postgres: () => Promise<PostgresServer>,
    test: (place: Place) => Promise<void>,
  ): Promise<void> {
    const place = new Place(await mkdtemp(join(tmpdir(), "restante-")), postgres);
    try {
      await test(place);
    } finally {
      for (const url of place.#databases) await (await postgres()).drop(url);
      await rm(place.folder, { recursive: true, force: true });
    }
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** The settings of a new store. Its folder does not exist yet. */
  async config(engine: EngineName): Promise<Config> {
    const data = this.path(`data-${++this.#count}`);
    const config = readConfig({ flags: { data }, environment: {}, cwd: this.folder });
    assert.ok(!Array.isArray(config));
    if (engine === "sqlite") return config as Config;
    const store = await (await this.#postgres()).preparedDatabase();
    this.#databases.push(store);
    return { ...(config as Config), store };
  }

  /** Copies a store that nobody has open, with its files. */
  async copy(config: Config): Promise<Config> {
    const data = this.path(`data-${++this.#count}`);
    await cp(config.data, data, { recursive: true });
    if (config.store === undefined) return { ...config, data };
    const store = await (await this.#postgres()).copy(config.store);
    this.#databases.push(store);
    return { ...config, data, store };
  }

  backUp(config: Config, to = this.path("backups"), keepMs?: number) {
    return backUp(config, { to, keepMs, track: noTrack });
  }

  restore(
    config: Config,
    more: Partial<Parameters<typeof restore>[1]> = {},
    from = this.path("backups"),
  ) {
    return restore(config, { from, isOverwriting: false, track: noTrack, ...more });
  }
}

/** Runs an app on a store while the function runs. */
export async function withApp<T>(
  { data, store }: Config,
  act: (app: TestApp) => Promise<T>,
  adminToken?: string,
): Promise<T> {
  const app = await startApp({ data, store, adminToken });
  try {
    return await act(unchecked(app));
  } finally {
    await app.stop();
  }
}

/** Responses are not compared with the OpenAPI document, which takes most of the time. */
function unchecked(app: TestApp): TestApp {
  const request: TestApp["request"] = (path, { token = app.admin, ...init } = {}) => {
    const headers = new Headers(init.headers);
    if (token !== null) headers.set("authorization", `Bearer ${token}`);
    return fetch(app.url + path, { ...init, headers });
  };
  return {
    ...app,
    request,
    async post(collection, fields) {
      const response = await request(`/${collection}`, json("POST", fields));
      assert.equal(response.status, 201);
      return (await response.json()) as Record<string, unknown>;
    },
    async total(collection) {
      return ((await (await request(`/${collection}`)).json()) as { total: number }).total;
    },
  };
}

const json = (method: string, body: unknown, headers = {}) => ({
  method,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

/** The secrets that are needed to compare stores. */
export interface Secrets {
  readonly admin: string;
  readonly ann: string;
}

export const key = { "idempotency-key": "order-1" };

/** Writes definitions, rules, files, owners, writeOnly values, references, keys and removals. */
export async function fill(app: TestApp): Promise<Secrets> {
  const define = (name: string, definition: object) =>
    app.request(`/-/collections/${name}`, json("PUT", definition));
  await define("people", {
    schema: {
      properties: {
        name: { type: "string" },
        age: { type: "integer" },
        pin: { type: "string", writeOnly: true },
      },
    },
    indexed: ["age", ["name", "-age"]],
    unique: ["name"],
    searchable: ["name"],
  });
  await define("notes", { access: { read: "owner", create: "token" } });
  await define("books", { references: { by: { collection: "people", onDelete: "cascade" } } });
  const created = await app.request(
    "/-/tokens",
    json("POST", { name: "ann", subject: "ann", scopes: ["notes:*"], expiresAt: null }),
  );
  const { secret: ann } = (await created.json()) as { secret: string };
  for (let n = 0; n < 40; n++)
    await app.post("people", { name: `person ${n} ä😀`, age: n % 7, pin: `secret ${n}` });
  const page = await app.request("/people?limit=40");
  const { data: people } = (await page.json()) as { data: { id: string }[] };
  for (const { id } of people.slice(5, 20))
    await app.request(`/people/${id}`, { method: "DELETE" });
  await app.request(`/people/${people[0]?.id}`, json("PATCH", { age: 99 }));
  await app.post("books", { by: people[1]?.id });
  for (let n = 0; n < 3; n++) await app.request("/notes", { ...json("POST", { n }), token: ann });
  await app.request("/orders", json("POST", { n: 1 }, key));
  for (let n = 0; n < 5; n++) await upload(app, `${"x".repeat(n * 1_000)}${n}`);
  return { admin: app.admin, ann };
}

export async function upload(app: TestApp, content: string): Promise<string> {
  const form = new FormData();
  form.append("title", `doc ${content.length}`);
  form.append("file", new Blob([content], { type: "text/plain" }), "a.txt");
  const response = await app.request("/docs", { method: "POST", body: form });
  assert.equal(response.status, 201);
  return ((await response.json()) as { id: string }).id;
}

const targets = [
  ...["/people?limit=7", "/people?limit=7&page=3", "/people?age=3", "/people?age=99"],
  ...["/people?sort=-age", "/people?q=person", "/people?q=12", "/books", "/docs", "/orders"],
  ...["/-/collections", "/-/tokens", "/people?name=person 39 ä😀"],
];

/** All that clients can see: bodies, ETags, the bytes of files, and what owners see. */
export async function describeApp(app: TestApp, { ann }: Secrets): Promise<unknown> {
  const seen: unknown[] = [];
  const look = async (target: string, token?: string) => {
    const response = await app.request(target, token === undefined ? {} : { token });
    const tag = response.headers.get("etag");
    const body = await response.text();
    // The time of the last use of the admin token is now.
    seen.push([target, response.status, tag, body.replace(/"usedAt":("[^"]*"|null)/g, "")]);
    return body;
  };
  for (const target of targets) await look(target);
  await look("/notes", ann);
  await look("/people", ann);
  const { data: docs } = JSON.parse(await look("/docs?limit=100")) as { data: { id: string }[] };
  for (const { id } of docs) await look(`/docs/${id}/file`);
  return seen;
}
