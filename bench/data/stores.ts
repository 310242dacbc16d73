// Stores with data, on both engines: each is filled once in a run, and shared by the parts.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { during } from "../progress.ts";
import type { Running } from "../servers/processes.ts";
import { type Flags, startRestante } from "../servers/restante.ts";
import { type Database, startDatabase } from "./database.ts";
import { bearer, define, type Fill, fill, type Headers } from "./fill.ts";
import { type Caller, fillPosts } from "./posts.ts";
import { large, member, memberDefinition } from "./records.ts";

export const engines = ["embedded", "postgres"] as const;
export type Engine = (typeof engines)[number];
export const engineTitles: Readonly<Record<Engine, string>> = {
  embedded: "embedded",
  postgres: "Postgres",
};

export interface StoredData {
  readonly folder: string;
  /** The flags that make Restante use it. */
  readonly flags: readonly string[];
}

export interface StoredPosts {
  readonly data: StoredData;
  readonly callers: readonly Caller[];
}

/** Members of a store that is there for something else. */
export const fewMembers = 1_000;

export class Stores {
  readonly #workFolder: string;
  readonly #secret: string;
  readonly #filled = new Map<string, Promise<StoredData>>();
  readonly #posts = new Map<string, Promise<StoredPosts>>();
  #database: Promise<Database> | undefined;
  #folders = 0;

  constructor(workFolder: string, secret: string) {
    this.#workFolder = workFolder;
    this.#secret = secret;
  }

  database(): Promise<Database> {
    this.#database ??= startDatabase();
    return this.#database;
  }

  /** A folder that nothing else uses, on the disk of the repository. */
  async folder(): Promise<string> {
    const folder = join(this.#workFolder, `${++this.#folders}`);
    await mkdir(folder, { recursive: true });
    return folder;
  }

  async empty(engine: Engine): Promise<StoredData> {
    const folder = await this.folder();
    if (engine === "embedded") return { folder, flags: [] };
    return { folder, flags: ["--store", await (await this.database()).empty()] };
  }

  /** `count` members. */
  members(engine: Engine, count: number): Promise<StoredData> {
    return this.#once(engine, `${engine} ${count}`, [
      { collection: "members", count, recordOf: (number) => member(number, count) },
    ]);
  }

  /** `count` posts, and the callers who may read some of them. */
  posts(engine: Engine, count: number): Promise<StoredPosts> {
    const name = `${engine} ${count}`;
    let filled = this.#posts.get(name);
    if (filled === undefined) {
      filled = this.#fillPosts(engine, count);
      this.#posts.set(name, filled);
    }
    return filled;
  }

  /** Resources of a megabyte, beside a few members. */
  large(engine: Engine, count: number): Promise<StoredData> {
    return this.#once(engine, `${engine} large`, [
      {
        collection: "members",
        count: fewMembers,
        recordOf: (number) => member(number, fewMembers),
      },
      { collection: "large", count, recordOf: large, perRequest: 10 },
    ]);
  }

  start(data: StoredData, flags: Flags = {}): Promise<Running> {
    const own = [...data.flags, ...(flags.own ?? [])];
    return startRestante(data.folder, this.#secret, { ...flags, own });
  }

  async close(): Promise<void> {
    await (await this.#database?.catch(() => undefined))?.close();
  }

  #once(engine: Engine, name: string, fills: readonly Fill[]): Promise<StoredData> {
    let filled = this.#filled.get(name);
    if (filled === undefined) {
      filled = this.#fill(engine, fills);
      this.#filled.set(name, filled);
    }
    return filled;
  }

  async #fill(engine: Engine, fills: readonly Fill[]): Promise<StoredData> {
    return this.#filledBy(engine, async (origin, headers) => {
      await define(origin, headers, "members", memberDefinition);
      for (const one of fills) await fill(origin, headers, one);
    });
  }

  async #fillPosts(engine: Engine, count: number): Promise<StoredPosts> {
    let callers: readonly Caller[] = [];
    const data = await this.#filledBy(engine, async (origin, headers) => {
      callers = await fillPosts(origin, headers, count);
    });
    return { data, callers };
  }

  async #filledBy(
    engine: Engine,
    work: (origin: string, headers: Headers) => Promise<void>,
  ): Promise<StoredData> {
    const data = await this.empty(engine);
    const server = await this.start(data);
    try {
      await work(server.origin, bearer(this.#secret));
    } finally {
      await server.stop();
    }
    const url = data.flags.at(-1);
    if (engine === "postgres" && url !== undefined)
      await during("vacuuming the database", (await this.database()).vacuum(url));
    return data;
  }
}
