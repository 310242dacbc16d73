// Counts the resources that subjects see, now and under another definition.

import type { Rules } from "../../model/collection.ts";
import type { Principal } from "../../model/principal.ts";
import type { SeenResources } from "../../model/schemas/collection.ts";
import type { Store } from "../../store/store.ts";
import type { Access } from "../access.ts";
import { principalOfSubject } from "./subject.ts";

/** The first entry is about callers without a token. */
export async function seenResources(
  store: Store,
  access: Access,
  now: number,
  name: string,
  definition: string,
  subjects: readonly string[],
): Promise<readonly SeenResources[]> {
  const [before, after] = [await store.rules(name), { version: 0, definition }];
  const seen: SeenResources[] = [];
  for (const subject of [undefined, ...subjects]) {
    const caller = await principalOfSubject(store, now, { subject });
    seen.push({
      ...(subject !== undefined && { subject }),
      before: before === undefined ? 0 : await countSeen(store, access, caller, name, before),
      after: await countSeen(store, access, caller, name, after),
    });
  }
  return seen;
}

/** Returns null when counting takes too long. */
async function countSeen(
  store: Store,
  access: Access,
  caller: Principal,
  name: string,
  rules: Rules,
): Promise<number | null> {
  const opened = await access.byRules(caller, name, rules);
  if (opened.require("read") !== undefined) return 0;
  const { predicate } = opened.view("read");
  if (predicate === undefined) return (await store.collection(name))?.total ?? 0;
  const found = await store.query(name, {
    conditions: [predicate],
    words: [],
    sortings: [],
    isNewestFirst: false,
    start: 0,
    limit: 1,
    isCounted: true,
  });
  return found === undefined ? 0 : (found.total ?? null);
}
