// Clients that write, upload and delete, and remember what they have done.

import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import type { TestApp } from "../http/app.ts";

export const clientCount = 4;

/** What a client has done so far, one after the other. */
export interface Journal {
  begun: number;
  acknowledged: number;
}

/** The content says which client wrote it, and when. */
const contentOf = (client: number, step: number) =>
  `${client}-${step} `.repeat(1 + (step % 50) * 20);

/** Every third step creates a resource, uploads a file, or deletes the one before the last. */
export class Client {
  readonly journal: Journal = { begun: 0, acknowledged: 0 };
  readonly #app: TestApp;
  readonly #number: number;
  readonly #docs = new Map<number, string>();

  constructor(app: TestApp, number: number) {
    this.#app = app;
    this.#number = number;
  }

  async work(isStopped: () => boolean): Promise<void> {
    while (!isStopped()) {
      const step = this.journal.begun++;
      if (step % 3 === 0) await this.#app.post("items", { client: this.#number, step });
      if (step % 3 === 1) await this.#upload(step);
      if (step % 3 === 2) await this.#delete(step - 4);
      this.journal.acknowledged++;
    }
  }

  async #upload(step: number): Promise<void> {
    const form = new FormData();
    form.append("client", String(this.#number));
    form.append("step", String(step));
    form.append("file", new Blob([contentOf(this.#number, step)]), "a.txt");
    const response = await this.#app.request("/docs", { method: "POST", body: form });
    assert.equal(response.status, 201);
    this.#docs.set(step, ((await response.json()) as { id: string }).id);
  }

  async #delete(step: number): Promise<void> {
    const id = this.#docs.get(step);
    if (id === undefined) return;
    const { status } = await this.#app.request(`/docs/${id}`, { method: "DELETE" });
    assert.equal(status, 204);
  }
}

/** The steps whose items and files exist after so many steps. */
function stateAfter(steps: number): { items: readonly number[]; docs: readonly number[] } {
  const all = Array.from({ length: steps }, (_, step) => step);
  const deleted = new Set(all.filter((step) => step % 3 === 2).map((step) => step - 4));
  return {
    items: all.filter((step) => step % 3 === 0),
    docs: all.filter((step) => step % 3 === 1 && !deleted.has(step)),
  };
}

interface Entry {
  readonly id: string;
  readonly client: number | string;
  readonly step: number | string;
}

async function readAll(app: TestApp, collection: string): Promise<readonly Entry[]> {
  const response = await app.request(`/${collection}`, {
    headers: { accept: "application/x-ndjson" },
  });
  const text = (await response.text()).trim();
  return text === "" ? [] : text.split("\n").map((line) => JSON.parse(line) as Entry);
}

/** Each client's state is that after a number of its steps, which the backup must have. */
export async function verify(
  app: TestApp,
  before: readonly Journal[],
  later: readonly Journal[],
): Promise<void> {
  const [items, docs] = [await readAll(app, "items"), await readAll(app, "docs")];
  for (const [client, { acknowledged }] of before.entries()) {
    const stepsOf = (entries: readonly Entry[]) =>
      entries.filter((each) => Number(each.client) === client).map(({ step }) => Number(step));
    const found = { items: stepsOf(items), docs: stepsOf(docs) };
    const most = later[client]?.begun ?? 0;
    const possible = Array.from({ length: most - acknowledged + 1 }, (_, n) => acknowledged + n);
    const isState = (steps: number) => JSON.stringify(stateAfter(steps)) === JSON.stringify(found);
    assert.ok(
      possible.some(isState),
      `client ${client}: ${JSON.stringify({ found, acknowledged, most })}`,
    );
  }
  for (const { id, client, step } of docs) {
    const bytes = await app.request(`/docs/${id}/file`);
    assert.equal(await bytes.text(), contentOf(Number(client), Number(step)));
  }
}

/** Resolves when the clients have begun so many more steps. */
export async function untilBegun(clients: readonly Client[], count: number): Promise<void> {
  const begun = () => clients.reduce((sum, { journal }) => sum + journal.begun, 0);
  const enough = begun() + count;
  while (begun() < enough) await setImmediate();
}

export const copyOf = (clients: readonly Client[]): readonly Journal[] =>
  clients.map(({ journal }) => ({ ...journal }));

/** Defines the collections that clients write to. */
export async function defineCollections(app: TestApp): Promise<void> {
  for (const name of ["items", "docs"])
    await app.request(`/-/collections/${name}`, {
      method: "PUT",
      body: "{}",
      headers: { "content-type": "application/json" },
    });
}
