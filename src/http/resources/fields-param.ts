// The parameter `fields`: what is shown of each resource, with its ETag where that is asked for.

import { checkFields } from "../../domain/build-query.ts";
import { readTree, writeTree } from "../../lib/json/tree.ts";
import type { Rules } from "../../model/collection.ts";
import { Problem } from "../../model/problem.ts";
import { etagField, everyField, type NamedField } from "../../model/query/list-request.ts";
import { projectionOf } from "../../model/query/projection.ts";
import { renderFields } from "../../model/render.ts";
import type { Resource } from "../../model/resource.ts";
import { etagOf } from "../headers/conditional.ts";
import { invalidQuestion, readParameters } from "../search-params.ts";
import { ListRequestReader } from "./list-request-reader.ts";

/** Writes a resource as it is shown; `home` is the address of its collection. */
export type Show = (rules: Rules | undefined, resource: Resource, home: string) => string;

/** How resources are shown when these fields are asked for; all of them when there are none. */
export function showing(fields: readonly string[]): Show {
  if (fields.length === 0) return renderFields;
  const isWhole = fields.includes(everyField);
  const project = isWhole ? (view: string) => view : projectionOf(fields);
  const show: Show = (rules, resource, home) => project(renderFields(rules, resource, home));
  if (!fields.includes(etagField)) return show;
  return (rules, resource, home) => tagged(show(rules, resource, home), etagOf(resource, rules));
}

/** The representation with its ETag, in quotation marks as If-Match takes it. */
function tagged(view: string, etag: string): string {
  const plain = view.includes(`"${etagField}"`) ? withoutTag(view) : view;
  return `${plain.slice(0, -1)},"${etagField}":${JSON.stringify(etag)}}`;
}

/** A resource of version 0.1 may have a field of this name, which is reserved now. */
function withoutTag(view: string): string {
  const tree = readTree(view);
  if (typeof tree === "string" || tree.kind !== "object") return view;
  tree.members.delete(etagField);
  return writeTree(tree);
}

/** The fields that the query of a request asks for, the only parameter that it may have. */
export function readShownFields(query: string): readonly NamedField[] | Problem {
  if (query === "") return [];
  const parameters = readParameters(query, ["fields"]);
  if (parameters instanceof Problem) return parameters;
  if (parameters.fields === undefined) return [];
  const reader = new ListRequestReader(true);
  const place = { parameter: "fields" };
  reader.fields(parameters.fields.split(",").map((text) => ({ text, place })));
  const { fields, errors } = reader.listRequest();
  return errors.length > 0 ? invalidQuestion(errors) : fields;
}

/** The same as a way to show resources of a collection, whose definition must know the fields. */
export function showingBy(fields: readonly NamedField[], rules: Rules | undefined): Show | Problem {
  const refused = rules && fields.length > 0 ? checkFields(rules.definition, fields) : undefined;
  return refused ?? showing(fields.map(({ field }) => field));
}
