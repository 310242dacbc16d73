// A server with one connection of each kind, so that each statement has one plan, which is made when it first runs.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { noClient } from "../../../src/lib/client.ts";
import { Metrics } from "../../../src/lib/metrics.ts";
import { responseOf } from "../../../src/lib/reply.ts";
import { Tasks } from "../../../src/lib/tasks.ts";
import { system } from "../../../src/model/principal.ts";
import { type App, connect } from "../../../src/server/app.ts";
import { defaultConfig } from "../../../src/server/config.ts";
import { createLog } from "../../../src/server/log.ts";
import { withGroupCommit } from "../../../src/store/group-commit.ts";
import { Connection } from "../../../src/store/postgres/connection.ts";
import { openPostgres } from "../../../src/store/postgres/postgres.ts";

type Fields = Readonly<Record<string, string>>;

/** The members of responses that the tests use. */
export interface Shown {
  readonly id: string;
  readonly token: string;
  readonly next: string;
  readonly more: boolean;
  readonly pages: number;
  readonly data: readonly { readonly updatedAt: string }[];
}

/** Sends a request with a body of JSON, or of text, and expects success. */
export type Send = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Fields,
) => Promise<Shown>;

export interface PlannedApp {
  /** As an administrator. */
  readonly send: Send;
  readonly as: (token: string) => Send;
  readonly erasures: App["erasures"];
  /** For what servers do in the background, which the tests do step by step. */
  readonly background: Connection;
  close(): Promise<void>;
}

export async function startPlannedApp(url: string, schema: string): Promise<PlannedApp> {
  const data = await mkdtemp(join(tmpdir(), "restante-plans-"));
  const single = { readers: 1, writers: 1, queries: 1 };
  // What is cached is not read again at any moment.
  const opened = await openPostgres({ url, schema, ...single, cacheMs: 600_000 });
  const store = withGroupCommit(opened, { isByCollection: true });
  const background = await Connection.open({ url, schema, deadlineMs: 0 });
  const config = { ...defaultConfig, data, store: url };
  const owned = { ...store, writer: store, announce: async () => undefined };
  const app = connect({
    config,
    log: createLog("silent"),
    store: owned,
    metrics: new Metrics(),
    tasks: new Tasks(),
    actions: [],
    isShared: true,
  });
  const { fetch, erasures } = app;
  const made = await app.tokens.create(system, {
    ...{ name: "plans", scopes: ["admin"], expiresAt: null },
  });
  assert.ok("secret" in made);
  const as =
    (token: string): Send =>
    async (method, path, body, headers = {}) => {
      const request = requestFor(method, path, body, {
        ...{ authorization: `Bearer ${token}`, ...headers },
      });
      const response = responseOf(await fetch(request, noClient));
      const text = await response.text();
      assert.ok(response.status < 300, `${method} ${path}: ${response.status} ${text}`);
      return text.startsWith("{") && !text.includes("\n") ? JSON.parse(text) : text;
    };
  return {
    ...{ send: as(made.secret), as, erasures, background },
    async close() {
      await app.close();
      await background.close();
      await rm(data, { recursive: true });
    },
  };
}

function requestFor(method: string, path: string, body: unknown, headers: Fields): Request {
  const url = `http://localhost${path}`;
  if (body === undefined) return new Request(url, { method, headers });
  const sent = typeof body === "string" ? body : JSON.stringify(body);
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  return new Request(url, {
    ...{ method, body: sent },
    headers: {
      ...{ "content-type": type, "content-length": `${Buffer.byteLength(sent)}` },
      ...headers,
    },
  });
}
