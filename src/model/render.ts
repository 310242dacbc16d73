// Renders the representation of a resource: its fields and files without write-only fields.

import { isObject, readTree, writeTree } from "../lib/json/tree.ts";
import type { Rules } from "./collection.ts";
import { definitionOf } from "./definition.ts";
import { addFileMembers, readFiles } from "./file.ts";
import type { Resource } from "./resource.ts";
import { type ResourceValidator, validatorOf } from "./validator.ts";

/** Renders a resource as JSON. `collectionUrl` is the URL of its collection. */
export type Renderer = (resource: Resource, collectionUrl: string) => string;

/** Returns the validator of rules that hide fields. A new collection has no rules yet. */
function hidingValidator(rules: Rules | undefined): ResourceValidator | undefined {
  const definition = rules && definitionOf(rules);
  const validator = definition?.schema === undefined ? undefined : validatorOf(definition);
  return validator?.hasHidden ? validator : undefined;
}

/** Returns the function that renders the resources of a collection with these rules. */
export function rendererOf(rules: Rules | undefined): Renderer {
  const validator = hidingValidator(rules);
  return (resource, collectionUrl) => {
    if (validator === undefined && resource.files === undefined) return represent(resource);
    const whole = withFileMembers(resource.fields, resource, collectionUrl);
    return represent({ ...resource, fields: validator?.visible(whole) ?? whole });
  };
}

export const renderFields = (
  rules: Rules | undefined,
  resource: Resource,
  collectionUrl: string,
): string => rendererOf(rules)(resource, collectionUrl);

/** The JSON representation: `id`, the user's fields unchanged, the times. */
export function represent(resource: Resource): string {
  const { fields } = resource;
  const inner = fields.length > 2 ? `,${fields.slice(1, -1)}` : "";
  const createdAt = new Date(resource.createdAt).toISOString();
  const updatedAt =
    resource.updatedAt === resource.createdAt
      ? createdAt
      : new Date(resource.updatedAt).toISOString();
  return `{"id":"${resource.id}"${inner},"createdAt":"${createdAt}","updatedAt":"${updatedAt}"}`;
}

/** Adds the members that represent the files to the text of the fields. */
export function withFileMembers(
  fields: string,
  { id, files }: Resource,
  collectionUrl: string,
): string {
  return addFileMembers(fields, readFiles(files), `${collectionUrl}/${id}`);
}

/** Adds a reserved member to a representation. */
export function withMember(view: string, name: string, value: string | null): string {
  const plain = view.includes(`"${name}"`) ? withoutMember(view, name) : view;
  return `${plain.slice(0, -1)},"${name}":${JSON.stringify(value)}}`;
}

/** A resource of version 0.1 may have a field with this name, which is now reserved. */
function withoutMember(view: string, name: string): string {
  const tree = readTree(view);
  if (!isObject(tree)) return view;
  tree.members.delete(name);
  return writeTree(tree);
}

/** Changes when another definition may hide other fields; 0 when nothing is hidden. */
export const viewVersion = (rules: Rules | undefined): number =>
  hidingValidator(rules) === undefined ? 0 : (rules?.version ?? 0);
