// A collection's rules, as its definition says them.

import type { Collection, Rules } from "./collection.ts";
import { scanObject } from "./json.ts";
import type { Fault } from "./problem.ts";

export interface Definition {
  /** Whether PUT, PATCH and DELETE must say which state they mean. */
  readonly preconditions: Demand;
  /** Whether POST must carry an Idempotency-Key. */
  readonly idempotencyKey: Demand;
}

export type Demand = "optional" | "required";

export const openDefinition: Definition = { preconditions: "optional", idempotencyKey: "optional" };

/** The definition in a text, or every fault of it at once. */
export function readDefinition(text: string): Definition | readonly Fault[] {
  const scanned = scanObject(text);
  if (!("members" in scanned)) return scanned;
  const given: Readonly<Record<string, unknown>> = JSON.parse(text);
  const faults = Object.entries(given).flatMap(([name, value]) => faultOf(name, value));
  return faults.length > 0 ? faults : { ...openDefinition, ...given };
}

function faultOf(name: string, value: unknown): readonly Fault[] {
  const pointer = `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  if (!Object.hasOwn(openDefinition, name)) {
    const known = Object.keys(openDefinition).join(", ");
    return [{ pointer, detail: `there is no such rule; there are: ${known}` }];
  }
  const isDemand = value === "optional" || value === "required";
  return isDemand ? [] : [{ pointer, detail: 'this is "optional" or "required"' }];
}

const known = new WeakMap<Rules | Collection, Definition>();

/** Read once for as long as the rules are the same object. */
export function definitionOf(rules: Rules | Collection): Definition {
  const before = known.get(rules);
  if (before !== undefined) return before;
  const definition = { ...openDefinition, ...JSON.parse(rules.definition) };
  known.set(rules, definition);
  return definition;
}
