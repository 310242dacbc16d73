// Renders the representation of a resource: its fields and files without write-only fields.

import type { Rules } from "./collection.ts";
import { definitionOf } from "./definition.ts";
import { addFileMembers, readFiles } from "./file.ts";
import { type Resource, represent } from "./resource.ts";
import { validatorOf } from "./validator.ts";

const hides = (rules: Rules): boolean => validatorOf(definitionOf(rules)).hasHidden;

/** `collectionUrl` is the URL of the collection. A new collection has no rules yet. */
export function renderFields(
  rules: Rules | undefined,
  resource: Resource,
  collectionUrl: string,
): string {
  const isOpen = rules === undefined || !hides(rules);
  if (isOpen && resource.parts === undefined) return represent(resource);
  const whole = withFileMembers(resource.fields, resource, collectionUrl);
  const fields = isOpen ? whole : validatorOf(definitionOf(rules)).visible(whole);
  return represent({ ...resource, fields });
}

/** Adds the members that represent the files to the text of the fields. */
export function withFileMembers(
  fields: string,
  { id, parts }: Resource,
  collectionUrl: string,
): string {
  return addFileMembers(fields, readFiles(parts), `${collectionUrl}/${id}`);
}

/** Changes when another definition may hide other fields; 0 when nothing is hidden. */
export const viewVersion = (rules: Rules | undefined): number =>
  rules !== undefined && hides(rules) ? rules.version : 0;
