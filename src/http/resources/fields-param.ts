// Reads the `fields` parameter, and makes functions that render a resource with these fields.

import { checkFields } from "../../domain/check-fields.ts";
import type { CollectionAccess } from "../../domain/collection-access.ts";
import type { Mask } from "../../domain/mask.ts";
import type { Principal } from "../../model/principal.ts";
import { Problem } from "../../model/problem.ts";
import {
  etagField,
  everyField,
  type ListRequest,
  type NamedField,
} from "../../model/query/list-request.ts";
import { projectionOf } from "../../model/query/projection.ts";
import { type Renderer, withMember } from "../../model/render.ts";
import { ownerMember, type Resource } from "../../model/resource.ts";
import { etagOf } from "../headers/conditional.ts";
import {
  invalidListRequest,
  readParameters,
  type SearchParams,
} from "../request/request-target.ts";
import { ListRequestReader } from "./list-request.ts";

/** Makes the function that renders the resources that are shown with a mask. */
export type RendererFactory = (mask: Mask) => Renderer;

/** Renders all fields that are shown. */
export const wholeRenderer: RendererFactory = ({ render }) => render;

/** Returns a renderer for these fields; an empty list means all fields. */
export function rendererFactory(fields: readonly string[]): RendererFactory {
  const isWhole = fields.length === 0 || fields.includes(everyField);
  const added = addedMembers.filter(({ name }) => fields.includes(name));
  if (isWhole && added.length === 0) return wholeRenderer;
  const project = isWhole ? (view: string) => view : projectionOf(fields);
  return (mask) => (resource, home) =>
    added.reduce(
      (view, { name, read }) => withMember(view, name, read(resource, mask)),
      project(mask.render(resource, home)),
    );
}

/** Members that are shown only when `fields` names them. */
const addedMembers: readonly {
  readonly name: string;
  readonly read: (resource: Resource, mask: Mask) => string | null;
}[] = [
  // With quotation marks, as If-Match needs it.
  { name: etagField, read: etagOf },
  { name: ownerMember, read: ({ owner = null }) => owner },
];

/** Returns the names of the members that `fields` adds to a representation. */
export const addedNames = (fields: readonly string[]): readonly string[] =>
  addedMembers.map(({ name }) => name).filter((name) => fields.includes(name));

/** What a request for one resource asks to see. */
export type ShownRequest = Pick<ListRequest, "fields" | "expand" | "isFromUrl">;

/** Reads `fields`, the only parameter that the request may have. */
export function readFieldsParam(searchParams: SearchParams): readonly NamedField[] | Problem {
  const shown = readShownParams(searchParams, ["fields"]);
  return shown instanceof Problem ? shown : shown.fields;
}

/** Reads the parameters of a GET of one resource; `known` are those that the request may have. */
export function readShownParams(
  searchParams: SearchParams,
  known: readonly ("fields" | "expand")[] = ["fields", "expand"],
): ShownRequest | Problem {
  const parameters = readParameters(searchParams, known);
  if (parameters instanceof Problem) return parameters;
  const reader = new ListRequestReader(true);
  for (const parameter of known) {
    const texts = parameters[parameter]?.split(",");
    if (texts !== undefined)
      reader[parameter](texts.map((text) => ({ text, place: { parameter } })));
  }
  const shown = reader.listRequest();
  return shown.errors.length > 0 ? invalidListRequest(shown.errors) : shown;
}

/** Returns a renderer for fields that the definition has and the principal may see. */
export function checkedRendererFactory(
  fields: readonly NamedField[],
  principal: Principal,
  access: CollectionAccess | undefined,
): RendererFactory | Problem {
  const rejected = fields.length > 0 ? checkFields(principal, access, fields) : undefined;
  return rejected ?? rendererFactory(fields.map(({ field }) => field));
}
