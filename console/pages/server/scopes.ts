// Scopes of a token, from what someone has ticked.

export const verbs = ["read", "create", "update", "delete"] as const;

/** A tick is a scope with one verb, such as `people:read`, or a scope of its own, such as `metrics`. */
export type Ticks = ReadonlySet<string>;

export function toggled(ticks: Ticks, tick: string): Ticks {
  const next = new Set(ticks);
  if (!next.delete(tick)) next.add(tick);
  return next;
}

/** All four verbs of a collection, or none. */
export function toggledRow(ticks: Ticks, collection: string): Ticks {
  const all = verbs.map((verb) => `${collection}:${verb}`);
  const isFull = all.every((tick) => ticks.has(tick));
  const next = new Set(ticks);
  for (const tick of all) isFull ? next.delete(tick) : next.add(tick);
  return next;
}

/** Whether the row of all collections has it, so that it needs no tick of its own. */
export const isCovered = (ticks: Ticks, collection: string, verb: string): boolean =>
  collection !== "*" && ticks.has(`*:${verb}`);

/** Returns the fewest scopes that say the same. */
export function scopesOf(ticks: Ticks): readonly string[] {
  if (ticks.has("admin")) return ["admin"];
  const byCollection = Map.groupBy(ticks, (tick) => tick.split(":", 1)[0] ?? "");
  return [...byCollection].flatMap(([collection, list]) => {
    const needed = list.filter(
      (tick) => !isCovered(ticks, collection, tick.slice(collection.length + 1)),
    );
    const isFull = verbs.every((verb) => needed.includes(`${collection}:${verb}`));
    // `action:*` is the scope of all actions, also when a collection has this name.
    return isFull && collection !== "action" ? [`${collection}:*`] : needed;
  });
}
