// Paths of fields as the API writes them: `address.city`, with `\.` for a dot in a name.

import { isObject, type Json, type JsonObject } from "../api/json.ts";
import { withMember } from "../api/patch.ts";

export const escapeName = (name: string): string => name.replace(/[\\.]/g, "\\$&");

/** `a\.b.c` is the member `c` of `a.b`. */
export const segmentsOf = (path: string): readonly string[] =>
  [...path.matchAll(/(?:^|\.)((?:\\.|[^.\\])*)/gs)].map(([, segment = ""]) =>
    segment.replace(/\\(.)/gs, "$1"),
  );

const memberOf = (value: Json | undefined, name: string): Json | undefined =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** Undefined when it is missing. */
export const valueAt = (resource: JsonObject, path: string): Json | undefined =>
  segmentsOf(path).reduce<Json | undefined>(memberOf, resource);

/** A merge patch that sets the field at a path. Null removes it. */
export const patchAt = (path: string, value: Json): JsonObject =>
  segmentsOf(path).reduceRight<Json>((inner, name) => objectOf(name, inner), value) as JsonObject;

/** A copy with another value at a path; undefined removes it. */
export const withValueAt = (
  resource: JsonObject,
  path: string,
  value: Json | undefined,
): JsonObject => withValue(resource, segmentsOf(path), value) as JsonObject;

function withValue(
  whole: Json | undefined,
  [name, ...rest]: readonly string[],
  value: Json | undefined,
): Json | undefined {
  if (name === undefined) return value;
  const object = isObject(whole) ? whole : {};
  return withMember(object, name, withValue(memberOf(object, name), rest, value));
}

/** Also for a member that is called `__proto__`. */
const objectOf = (name: string, value: Json): JsonObject => Object.fromEntries([[name, value]]);
