// What is shown of a resource: its fields and files, but what its collection's schema keeps to itself.

import type { Rules } from "./collection.ts";
import { definitionOf } from "./definition.ts";
import { addFileMembers, readFiles } from "./file.ts";
import { type Resource, represent } from "./resource.ts";
import { validatorOf } from "./validator.ts";

const hides = (rules: Rules): boolean => validatorOf(definitionOf(rules)).hasHidden;

/** `home` is the collection's address. A collection that has just come into being has no rules yet. */
export function renderFields(rules: Rules | undefined, resource: Resource, home: string): string {
  const isOpen = rules === undefined || !hides(rules);
  if (isOpen && resource.parts === undefined) return represent(resource);
  const whole = withFileMembers(resource.fields, resource, home);
  const fields = isOpen ? whole : validatorOf(definitionOf(rules)).visible(whole);
  return represent({ ...resource, fields });
}

/** The text of the fields with the members that show its files. */
export function withFileMembers(fields: string, { id, parts }: Resource, home: string): string {
  return addFileMembers(fields, readFiles(parts), `${home}/${id}`);
}

/** Tells apart what the same state looks like under other rules; 0 where all is shown. */
export const viewVersion = (rules: Rules | undefined): number =>
  rules !== undefined && hides(rules) ? rules.version : 0;
