// Builds indexes over the members, one after another, and waits for them.

import { define, type Headers, request } from "../data/fill.ts";
import type { memberDefinition } from "../data/records.ts";

/** Fields that have no index at first, and that no filter uses. Each part builds its own. */
export const buildFields = { fairness: ["email", "name"], scan: ["text"] } as const;

interface CollectionInfo {
  readonly definition: typeof memberDefinition;
  readonly build?: { readonly status: string; readonly percent?: number };
}

const collection = "members";

async function read(origin: string, headers: Headers): Promise<CollectionInfo> {
  const text = await request(`${origin}/-/collections/${collection}`, { headers }, 200);
  return JSON.parse(text) as CollectionInfo;
}

/** Adds an index over the next field, which stays. Returns false when every field has one. */
export async function startBuild(
  origin: string,
  headers: Headers,
  fields: readonly string[],
): Promise<boolean> {
  const { definition } = await read(origin, headers);
  const field = fields.find((name) => !definition.indexed.includes(name));
  if (field === undefined) return false;
  const indexed = [...definition.indexed, field];
  await define(origin, headers, collection, { ...definition, indexed });
  return true;
}

/** Waits until the build has ended. Returns false when it has not at the given time. */
export async function finishBuild(
  origin: string,
  headers: Headers,
  until = performance.now() + 300_000,
): Promise<boolean> {
  for (;;) {
    const { build } = await read(origin, headers);
    if (build?.status === "failed") throw new Error("the build of the index has failed");
    if (build?.status !== "running") return true;
    if (performance.now() > until) return false;
    await Bun.sleep(100);
  }
}
