// The definition of a collection, with its defaults.

import { withDefaults } from "../lib/schema/with-defaults.ts";
import type { Collection, Rules } from "./collection.ts";
import { type Definition, type DefinitionRequest, definitionSchema } from "./definition-schema.ts";

export type { Definition };

export const openDefinition: Definition = withDefaults(definitionSchema, {});

/** Fills in the defaults of a valid definition. */
export function complete({ $schema: _, ...given }: DefinitionRequest): Definition {
  return withDefaults(definitionSchema, given);
}

const cache = new WeakMap<Rules | Collection, Definition>();

/** Parses the definition once per object. */
export function definitionOf(rules: Rules | Collection): Definition {
  const cached = cache.get(rules);
  if (cached !== undefined) return cached;
  const definition = complete(JSON.parse(rules.definition));
  cache.set(rules, definition);
  return definition;
}
