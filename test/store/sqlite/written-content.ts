// What the child processes of the fault tests write, and checks that all of it is stored.

import assert from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";

/** Says itself whether it is whole. */
export const contentOf = (id: string, bytes: number): string =>
  JSON.stringify({ of: id, text: `${id},`.repeat(Math.ceil(bytes / (id.length + 1))) });

/** What a child process has printed about its writes. */
export class ReportedWrites {
  readonly #lines: readonly string[];

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  /** The rest of each line that begins with the word. */
  with(word: string): readonly string[] {
    const start = `${word} `;
    return this.#lines
      .filter((line) => line.startsWith(start))
      .map((line) => line.slice(start.length));
  }
}

/** Every write that was acknowledged is there, byte for byte, and nothing else but what is unknown. */
export async function assertAllStored(
  store: Store,
  kept: Iterable<string>,
  unknown: Iterable<string>,
  bytes: number,
): Promise<void> {
  const slice = await store.slice("things", { offset: 0, limit: 1e6, order: "created" });
  const found = new Map(slice?.resources.map(({ id, fields }) => [id, fields]));
  assert.equal(found.size, slice?.collection.total ?? 0);
  for (const id of kept) {
    assert.ok(found.get(id) === contentOf(id, bytes), `${id} is not as it was written`);
    found.delete(id);
  }
  for (const id of unknown) found.delete(id);
  assert.deepEqual([...found.keys()], []);
}
