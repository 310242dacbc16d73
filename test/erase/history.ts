// A random history of a server in which one person has secrets in every place, among many neighbours.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

type Headers = Readonly<Record<string, string>>;

const definitions = {
  people: {
    schema: {
      properties: { email: { type: "string" }, city: { type: "string" }, bio: { type: "string" } },
    },
    unique: ["email"],
    indexed: ["city", ["city", "-email"]],
    searchable: ["bio"],
    access: {
      read: [{ name: "team", to: "token", where: { city: "$me" }, fields: ["city"] }],
      create: "token",
      update: "token",
    },
  },
  notes: { indexed: ["text"], access: { read: "owner", create: "token" } },
  docs: {
    references: { by: { collection: "people", onDelete: "cascade" } },
    searchable: ["title"],
  },
  links: { references: { to: { collection: "people", onDelete: "unset" } } },
};

/** Sends requests to a server. */
export class Client {
  readonly #url: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  as(token: string): Client {
    return new Client(this.#url, token);
  }

  async send(method: string, path: string, body?: unknown, headers: Headers = {}) {
    const isForm = body instanceof FormData;
    const type: Headers =
      isForm || body === undefined ? {} : { "content-type": "application/json" };
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#token}`, ...type, ...headers },
      ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
  }

  async must(method: string, path: string, body?: unknown, headers?: Headers) {
    const response = await this.send(method, path, body, headers);
    assert.ok(response.status < 300, `${method} ${path}: ${JSON.stringify(response)}`);
    return response.body;
  }

  async idsOf(collection: string, query = ""): Promise<ReadonlySet<string>> {
    const ids = new Set<string>();
    for (let page = 1; ; page++) {
      const { data } = await this.must("GET", `/${collection}?limit=100&page=${page}${query}`);
      for (const { id } of data as { id: string }[]) ids.add(id);
      if (data.length < 100) return ids;
    }
  }
}

export class History {
  /** No part of these may be left. */
  readonly secrets: string[] = [];
  /** The id of the person to erase. */
  readonly id: string;
  /** The neighbours that are there. */
  readonly people = new Set<string>();
  /** Resources of others that refer to the person. */
  readonly links = new Set<string>();
  readonly #client: Client;
  readonly #random: () => number;
  #count = 0;

  constructor(client: Client, random: () => number) {
    this.#client = client;
    this.#random = random;
    this.id = this.secret();
  }

  /** A word that is in no other place. Case is not kept in search words and in some index keys. */
  secret(): string {
    const word = `Q${this.#word()}${this.#word()}`;
    this.secrets.push(word);
    return word;
  }

  async define(): Promise<void> {
    for (const [name, definition] of Object.entries(definitions))
      await this.#client.must("PUT", `/-/collections/${name}`, definition);
  }

  /** Writes the person, who is changed while neighbours come and go. */
  async run(steps: number): Promise<void> {
    for (let n = 0; n < steps / 2; n++) await this.neighbour();
    await this.#client.must("PUT", `/people/${this.id}`, this.#person());
    await this.#refer();
    await this.#changePerson(true);
    for (let n = 0; n < steps; n++)
      await (this.#random() < 0.2 ? this.#changePerson() : this.neighbour());
  }

  /** Creates, changes or deletes a neighbour. */
  async neighbour(): Promise<void> {
    const ids = [...this.people];
    const id = ids[Math.floor(this.#random() * ids.length)];
    const dice = this.#random();
    if (id === undefined || dice < 0.6) {
      const { id: created } = await this.#client.must("POST", "/people", this.#someone());
      this.people.add(created);
    } else if (dice < 0.8) await this.#client.must("PATCH", `/people/${id}`, this.#someone());
    else {
      this.people.delete(id);
      await this.#client.must("DELETE", `/people/${id}`);
    }
  }

  #word = (): string =>
    Math.floor(this.#random() * 2 ** 40)
      .toString(36)
      .padStart(8, "q");

  /** Some span overflow pages, and pages are split. */
  #someone(): object {
    const length = [1, 3, 30, 900][Math.floor(this.#random() * 4)] ?? 1;
    const bio = `${this.#word()} `.repeat(length);
    return { email: `${this.#word()}-${++this.#count}`, city: this.#word().slice(0, 3), bio };
  }

  #person(): object {
    const [email, city, word, deep] = Array.from({ length: 4 }, () => this.secret());
    const long = this.#random() < 0.5 ? this.secret().repeat(2_000) : "";
    return { email, city, bio: `about ${word}`, deep: { list: [deep, { long }] } };
  }

  async #changePerson(isKeyed = this.#random() < 0.5): Promise<void> {
    const headers = isKeyed ? { "idempotency-key": this.secret() } : {};
    await this.#client.must("PATCH", `/people/${this.id}`, this.#person(), headers);
  }

  /** A document with files that is deleted with the person, and links that stay. */
  async #refer(): Promise<void> {
    const form = new FormData();
    form.append("by", this.id);
    form.append("title", this.secret());
    form.append("file", new Blob([this.secret().repeat(9_000)]), `${this.secret()}.txt`);
    await this.#client.must("POST", "/docs", form);
    for (const headers of [{}, { "idempotency-key": this.secret() }]) {
      const { id } = await this.#client.must("POST", "/links", { to: this.id, n: 1 }, headers);
      this.links.add(id);
    }
  }
}

/** Returns the files that contain the beginning or the end of a secret, in any case. */
export async function tracesIn(
  folder: string,
  secrets: readonly string[],
): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const parts = secrets.flatMap((secret) => [secret.slice(1, 9), secret.slice(-8)]);
  // Read by another process: closing a file of SQLite in a process that uses it would drop its locks.
  const found = spawnSync("grep", ["-aliF", "-f", "-", ...paths], { input: parts.join("\n") });
  assert.ok(found.status !== null && found.status < 2, String(found.stderr));
  return String(found.stdout).split("\n").filter(Boolean);
}
