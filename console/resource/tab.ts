// What every tab of a resource gets, and which member may be changed.

import type { Definition, Right, Rights } from "../api/types.ts";
import type { Draft } from "./draft.ts";
import type { Uploads } from "./uploads.ts";

export interface TabProps {
  readonly collection: string;
  /** Undefined for a new resource. */
  readonly id: string | undefined;
  readonly definition: Definition;
  readonly draft: Draft;
  readonly uploads: Uploads;
  /** Undefined until they are known. */
  readonly rights: Rights | undefined;
  /** Why a member cannot be changed, or undefined; without a name, why none can. */
  readonly lockOf: (name: string) => string | undefined;
}

/** Until the rights are known nothing is locked: the server decides anyway. */
export function lockBy(right: Right | undefined, verb: string): TabProps["lockOf"] {
  if (right === undefined || right === true) return () => undefined;
  if (right === false) return () => `Your token may not ${verb} this resource.`;
  return (name) =>
    name === "" || right.fields.includes(name)
      ? undefined
      : `Your token may not ${verb} this field.`;
}
