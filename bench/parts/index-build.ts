// The build of an index over the members, and how long POSTs wait for it.

import { define, type Headers, request } from "../data/fill.ts";
import { member, type memberDefinition } from "../data/records.ts";
import type { Engine } from "../data/stores.ts";

export interface BuildFigures {
  readonly engine: Engine;
  /** How long it was watched, and how much of it was done by then. */
  readonly seconds: number;
  readonly percent: number;
  readonly posts: number;
  readonly longestMs: number;
  /** The same without a build. */
  readonly idleLongestMs: number;
}

interface CollectionInfo {
  readonly definition: typeof memberDefinition;
  readonly build?: { readonly status: string; readonly percent?: number };
}

const collection = "members";
/** Has no index at first. */
const field = "email";

async function read(origin: string, headers: Headers): Promise<CollectionInfo> {
  const text = await request(`${origin}/-/collections/${collection}`, { headers }, 200);
  return JSON.parse(text) as CollectionInfo;
}

/** Adds an index, and waits until it is built or the time is up. Returns how much of it is built. */
export async function buildIndex(
  origin: string,
  headers: Headers,
  seconds: number,
): Promise<Pick<BuildFigures, "seconds" | "percent">> {
  const { definition } = await read(origin, headers);
  const startedAt = performance.now();
  const elapsed = () => (performance.now() - startedAt) / 1000;
  const indexed = [...definition.indexed, field];
  let isDone = await define(origin, headers, collection, { ...definition, indexed });
  let percent = 100;
  while (!isDone && elapsed() < seconds) {
    await Bun.sleep(100);
    const { build } = await read(origin, headers);
    if (build?.status === "failed") throw new Error("the build of the index has failed");
    isDone = build?.status !== "running";
    percent = isDone ? 100 : (build?.percent ?? Number.NaN);
  }
  return { seconds: elapsed(), percent };
}

export interface PostWaits {
  readonly posts: number;
  readonly longestMs: number;
}

/** One client that POSTs members, one request after another, until it is stopped. */
export function startPosts(origin: string, headers: Headers): { stop(): Promise<PostWaits> } {
  let isOver = false;
  const init = {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(member(1, 1_000)),
  };
  const work = async () => {
    let [posts, longestMs] = [0, 0];
    for (; !isOver; posts++) {
      const startedAt = performance.now();
      await request(`${origin}/${collection}`, init, 201);
      longestMs = Math.max(longestMs, performance.now() - startedAt);
      await Bun.sleep(5);
    }
    return { posts, longestMs };
  };
  const working = work();
  // It is awaited when it is stopped; a failure before that is not lost.
  working.catch(() => undefined);
  return {
    stop() {
      isOver = true;
      return working;
    },
  };
}
