// Starts a server whose files are in a folder of their own, so that a test can look into it.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../../src/server/config.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";

export interface FilesApp {
  readonly app: TestApp;
  readonly client: Client;
  /** The path of the folder. */
  readonly files: string;
  /** Defines a collection, and expects success. */
  define(name: string, definition: unknown): Promise<void>;
  stop(): Promise<void>;
}

/** It has a collection `people`. */
export async function startFilesApp(changes: Partial<Config> = {}): Promise<FilesApp> {
  const folder = await mkdtemp(join(tmpdir(), "restante-"));
  const files = join(folder, "files");
  const app = await startApp({ files, ...changes });
  const client = new Client(app);
  await app.post("people", {});
  return {
    ...{ app, client, files },
    async define(name, definition) {
      const { status, body } = await client.put(`/-/collections/${name}`, definition);
      assert.ok(status < 300, body);
    },
    async stop() {
      await app.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
