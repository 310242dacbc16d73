// Reads the `fields` parameter and renders resources with only these fields.

import { checkFields } from "../../domain/build-query.ts";
import { readTree, writeTree } from "../../lib/json/tree.ts";
import type { Rules } from "../../model/collection.ts";
import { Problem } from "../../model/problem.ts";
import { etagField, everyField, type NamedField } from "../../model/query/list-request.ts";
import { projectionOf } from "../../model/query/projection.ts";
import { renderFields } from "../../model/render.ts";
import type { Resource } from "../../model/resource.ts";
import { etagOf } from "../headers/conditional.ts";
import { invalidListRequest, readParameters } from "../search-params.ts";
import { ListRequestReader } from "./list-request-reader.ts";

/** Renders a resource as JSON; `home` is the URL of its collection. */
export type RenderResource = (rules: Rules | undefined, resource: Resource, home: string) => string;

/** Returns a renderer for these fields; an empty list means all fields. */
export function rendererFor(fields: readonly string[]): RenderResource {
  if (fields.length === 0) return renderFields;
  const isWhole = fields.includes(everyField);
  const project = isWhole ? (view: string) => view : projectionOf(fields);
  const show: RenderResource = (rules, resource, home) =>
    project(renderFields(rules, resource, home));
  if (!fields.includes(etagField)) return show;
  return (rules, resource, home) => tagged(show(rules, resource, home), etagOf(resource, rules));
}

/** Adds the ETag to the representation, with quotation marks as If-Match needs it. */
function tagged(view: string, etag: string): string {
  const plain = view.includes(`"${etagField}"`) ? withoutTag(view) : view;
  return `${plain.slice(0, -1)},"${etagField}":${JSON.stringify(etag)}}`;
}

/** A resource of version 0.1 may have a field with this name, which is now reserved. */
function withoutTag(view: string): string {
  const tree = readTree(view);
  if (typeof tree === "string" || tree.kind !== "object") return view;
  tree.members.delete(etagField);
  return writeTree(tree);
}

/** Reads `fields`, the only parameter that the request may have. */
export function readShownFields(query: string): readonly NamedField[] | Problem {
  if (query === "") return [];
  const parameters = readParameters(query, ["fields"]);
  if (parameters instanceof Problem) return parameters;
  if (parameters.fields === undefined) return [];
  const reader = new ListRequestReader(true);
  const place = { parameter: "fields" };
  reader.fields(parameters.fields.split(",").map((text) => ({ text, place })));
  const { fields, errors } = reader.listRequest();
  return errors.length > 0 ? invalidListRequest(errors) : fields;
}

/** Returns a renderer for fields that the definition has. */
export function checkedRendererFor(
  fields: readonly NamedField[],
  rules: Rules | undefined,
): RenderResource | Problem {
  const rejected = rules && fields.length > 0 ? checkFields(rules.definition, fields) : undefined;
  return rejected ?? rendererFor(fields.map(({ field }) => field));
}
