// What is shown of a resource: all but what its collection's schema keeps to itself.

import type { Rules } from "./collection.ts";
import { definitionOf } from "./definition.ts";
import { type Resource, represent } from "./resource.ts";
import { shapeOf } from "./schema/shape.ts";

const hides = (rules: Rules): boolean => shapeOf(definitionOf(rules)).hides;

/** A collection that has just come into being has no rules yet. */
export function viewOf(rules: Rules | undefined, resource: Resource): string {
  if (rules === undefined || !hides(rules)) return represent(resource);
  const fields = shapeOf(definitionOf(rules)).shown(resource.fields);
  return represent({ ...resource, fields });
}

/** Tells apart what the same state looks like under other rules; 0 where all is shown. */
export const sealOf = (rules: Rules | undefined): number =>
  rules !== undefined && hides(rules) ? rules.version : 0;
