// What was changed in a JSON object: as a patch for the server, and put together with what others changed.

import { isEqual, isObject, type Json, type JsonObject, memberOf } from "./json.ts";

/** Members that the server sets. */
const ofTheServer = new Set(["id", "createdAt", "updatedAt", "_etag", "_owner", "_expanded"]);

/** The members of a resource that a person may change. */
export const fieldsOf = (resource: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(resource).filter(([name]) => !ofTheServer.has(name)));

/** Undefined removes the member. */
export const withMember = (
  object: JsonObject,
  name: string,
  value: Json | undefined,
): JsonObject =>
  value === undefined
    ? Object.fromEntries(Object.entries(object).filter(([other]) => other !== name))
    : { ...object, [name]: value };

export function changedNames(base: JsonObject, draft: JsonObject): readonly string[] {
  const names = new Set([...Object.keys(base), ...Object.keys(draft)]);
  return [...names].filter((name) => !isEqual(memberOf(base, name), memberOf(draft, name)));
}

/** A JSON Pointer to a member of what another one points to. */
export const pointerTo = (parent: string, name: string | number): string =>
  `${parent}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;

interface Patch {
  readonly type: "application/merge-patch+json" | "application/json-patch+json";
  readonly body: Json;
}

/** A merge patch cannot write null, so then it is a JSON Patch. Both have the changed members only. */
export function patchOf(base: JsonObject, draft: JsonObject): Patch {
  const isMerge = !changedNames(base, draft).some((name) => needsNull(base, draft, name));
  return isMerge
    ? { type: "application/merge-patch+json", body: mergePatch(base, draft) }
    : { type: "application/json-patch+json", body: jsonPatch(base, draft) };
}

function needsNull(base: JsonObject, draft: JsonObject, name: string): boolean {
  const before = memberOf(base, name);
  const after = memberOf(draft, name);
  if (isObject(before) && isObject(after))
    return changedNames(before, after).some((inner) => needsNull(before, after, inner));
  return hasNull(after);
}

const hasNull = (value: Json | undefined): boolean =>
  value === null || (isObject(value) && Object.values(value).some(hasNull));

const mergePatch = (base: JsonObject, draft: JsonObject): JsonObject =>
  Object.fromEntries(
    changedNames(base, draft).map((name) => {
      const before = memberOf(base, name);
      const after = memberOf(draft, name) ?? null;
      return [name, isObject(before) && isObject(after) ? mergePatch(before, after) : after];
    }),
  );

const jsonPatch = (base: JsonObject, draft: JsonObject): Json =>
  changedNames(base, draft).map((name) => {
    const path = pointerTo("", name);
    const value = memberOf(draft, name);
    return value === undefined ? { op: "remove", path } : { op: "add", path, value };
  });

/** Members that both have changed, each to something else. */
export const conflictsOf = (
  base: JsonObject,
  mine: JsonObject,
  theirs: JsonObject,
): readonly string[] =>
  changedNames(base, mine).filter(
    (name) =>
      !isEqual(memberOf(base, name), memberOf(theirs, name)) &&
      !isEqual(memberOf(mine, name), memberOf(theirs, name)),
  );

/** Their state with my changes. */
export const rebase = (base: JsonObject, mine: JsonObject, theirs: JsonObject): JsonObject =>
  changedNames(base, mine).reduce(
    (result, name) => withMember(result, name, memberOf(mine, name)),
    theirs,
  );
