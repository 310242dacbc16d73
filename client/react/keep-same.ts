// Keeps the objects of a query that have not changed, and never makes a copy of a resource.

import { replaceEqualDeep } from "@tanstack/react-query";
import type { Members } from "../object.ts";
import { etagOf } from "../tags.ts";

/** For `structuralSharing`. That of TanStack Query returns copies, and a copy has no ETag. */
export function keepSame(old: unknown, next: unknown): unknown {
  if (Array.isArray(old) && Array.isArray(next)) return keepElements(old, next);
  if (!isPlain(old) || !isPlain(next)) return next;
  if (etagOf(old) || etagOf(next)) return isSameState(old, next) ? old : next;
  return keepMembers(old, next);
}

/** With `expand` a resource can change while its ETag stays. */
const isSameState = (old: object, next: object): boolean =>
  etagOf(old) === etagOf(next) && replaceEqualDeep(old, next) === old;

/** By id, so that rows stay the same when one is inserted above them. */
function keepElements(old: readonly unknown[], next: readonly unknown[]): readonly unknown[] {
  const keyOf = (one: unknown, at: number) => (isPlain(one) && one.id) || at;
  const known = new Map(old.map((one, at) => [keyOf(one, at), one]));
  const kept = next.map((one, at) => keepSame(known.get(keyOf(one, at)), one));
  const isSame = kept.length === old.length && kept.every((one, at) => Object.is(one, old[at]));
  return isSame ? old : kept;
}

function keepMembers(old: Members, next: Members): Members {
  const kept = Object.entries(next).map(([name, value]): [string, unknown] => [
    name,
    keepSame(old[name], value),
  ]);
  const isSame =
    kept.length === Object.keys(old).length &&
    kept.every(([name, value]) => name in old && Object.is(value, old[name]));
  return isSame ? old : Object.fromEntries(kept);
}

const isPlain = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
