// What a form sends: only what has changed, without what the server sets.

import { isObject, type Members } from "../object.ts";

/** The server sets them, or a provider adds them. */
const notSent = new Set(["createdAt", "updatedAt", "_expanded", "_etag"]);

/** A new resource. An empty input (null) is left out. */
export const draftOf = ({ id: _, ...data }: Members): Members =>
  withoutNull(sendable(data)) as Members;

/** A merge patch. A member that `data` has not stays as it is, and null removes one. */
export function patchOf({ id: _, ...data }: Members, before: Members = {}): Members {
  return difference(sendable(data), before);
}

function difference(data: Members, before: Members): Members {
  const changed = Object.entries(data).filter(([name, value]) => !isSame(value, before[name]));
  return Object.fromEntries(changed.map(([name, value]) => [name, change(value, before[name])]));
}

/** Inside of a member everything is there, so that what is missing was removed. */
function change(value: unknown, before: unknown): unknown {
  if (!isObject(value) || !isObject(before)) return withoutNull(value);
  const removed = Object.fromEntries(Object.keys(before).map((name) => [name, null]));
  return difference({ ...removed, ...value }, before);
}

/** As JSON: dates are texts, and what is undefined is missing. */
function sendable(data: Members): Members {
  const own = Object.entries(data).filter(([name]) => !notSent.has(name));
  return JSON.parse(JSON.stringify(Object.fromEntries(own)));
}

/** A form has null for an empty input. */
function withoutNull(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNull);
  if (!isObject(value)) return value;
  const given = Object.entries(value).filter(([, one]) => one !== null);
  return Object.fromEntries(given.map(([name, one]) => [name, withoutNull(one)]));
}

/** Equal as JSON, whatever the order of members. Null is as good as missing. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other || (one ?? other ?? null) === null) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((each, at) => isSame(each, other[at]));
  if (!isObject(one) || !isObject(other)) return false;
  return [...Object.keys(one), ...Object.keys(other)].every((name) =>
    isSame(one[name], other[name]),
  );
}
