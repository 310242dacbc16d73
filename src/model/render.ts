// Renders the representation of a resource: its fields and files without write-only fields.

import { isObject, readTree, writeTree } from "../lib/json/tree.ts";
import type { Rules } from "./collection.ts";
import { definitionOf } from "./definition.ts";
import { addFileMembers, readFiles } from "./file.ts";
import type { Resource } from "./resource.ts";
import { type ResourceValidator, validatorOf } from "./validator.ts";

/** Renders a resource as JSON. `collectionUrl` is the URL of its collection. */
export type Renderer = (resource: Resource, collectionUrl: string) => string;

/** How the resources of a collection are shown. */
interface ResourceView {
  /** Returns the fields without the write-only ones; undefined when there are none. */
  readonly visible: ((fields: string) => string) | undefined;
  readonly render: Renderer;
}

const openView: ResourceView = {
  visible: undefined,
  render: (resource, collectionUrl) =>
    resource.files === undefined
      ? represent(resource)
      : represent({
          ...resource,
          fields: withFileMembers(resource.fields, resource, collectionUrl),
        }),
};

const hidingView = (validator: ResourceValidator): ResourceView => ({
  visible: (fields) => validator.visible(fields),
  render: (resource, collectionUrl) => {
    const whole = withFileMembers(resource.fields, resource, collectionUrl);
    return represent({ ...resource, fields: validator.visible(whole) });
  },
});

const views = new WeakMap<Rules, ResourceView>();

/** Cached per object. A new collection has no rules yet. */
function viewOf(rules: Rules | undefined): ResourceView {
  if (rules === undefined) return openView;
  const cached = views.get(rules);
  if (cached !== undefined) return cached;
  const validator = validatorOf(definitionOf(rules));
  const view = validator.hasHidden ? hidingView(validator) : openView;
  views.set(rules, view);
  return view;
}

/** Returns the function that renders the resources of a collection with these rules. */
export const rendererOf = (rules: Rules | undefined): Renderer => viewOf(rules).render;

/** The JSON representation: `id`, the user's fields unchanged, the times. */
export function represent(resource: Resource): string {
  const { fields } = resource;
  const inner = fields.length > 2 ? `,${fields.slice(1, -1)}` : "";
  return `{"id":"${resource.id}"${inner}${endOf(resource)}`;
}

function endOf(resource: Resource): string {
  const createdAt = isoTime(resource.createdAt);
  const updatedAt =
    resource.updatedAt === resource.createdAt ? createdAt : isoTime(resource.updatedAt);
  return `,"createdAt":"${createdAt}","updatedAt":"${updatedAt}"}`;
}

/** Renders a resource in pieces. The bytes of fields that are shown unchanged do not become text. */
export function renderPieces(
  render: Renderer,
  resource: Resource,
  collectionUrl: string,
): readonly [string, ...(string | Uint8Array)[]] {
  const { id, fieldBytes, files } = resource;
  const isUnchanged = render === openView.render && files === undefined;
  if (!isUnchanged || fieldBytes === undefined || fieldBytes.length <= 2)
    return [render(resource, collectionUrl)];
  return [`{"id":"${id}",`, fieldBytes.subarray(1, -1), endOf(resource)];
}

const dayMs = 86_400_000;
const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, "0"));

let lastDay = Number.NaN;
let lastDate = "";

/** Formats like `toISOString`, which is several times slower. Consecutive calls often have the same day. */
function isoTime(ms: number): string {
  const day = Math.floor(ms / dayMs);
  if (day !== lastDay) {
    const text = new Date(ms).toISOString();
    lastDate = text.slice(0, text.indexOf("T") + 1);
    lastDay = day;
  }
  const rest = ms - day * dayMs;
  const seconds = Math.floor(rest / 1000);
  const minutes = Math.floor(seconds / 60);
  const time = `${twoDigits[Math.floor(minutes / 60)]}:${twoDigits[minutes % 60]}:${twoDigits[seconds % 60]}`;
  return `${lastDate}${time}.${String(1000 + (rest % 1000)).slice(1)}Z`;
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
export const withMember = (view: string, name: string, value: string | null): string =>
  withText(view, name, JSON.stringify(value));

/** Adds a reserved member whose value is JSON text. */
export function withText(view: string, name: string, text: string): string {
  const plain = view.includes(`"${name}"`) ? withoutMember(view, name) : view;
  return `${plain.slice(0, -1)},"${name}":${text}}`;
}

/** A resource of version 0.1 may have a field with this name, which is now reserved. */
function withoutMember(view: string, name: string): string {
  const tree = readTree(view);
  if (!isObject(tree)) return view;
  tree.members.delete(name);
  return writeTree(tree);
}

/** Returns what removes the fields that the schema hides from everyone; undefined when it hides none. */
export const visibleOf = (rules: Rules | undefined): ResourceView["visible"] =>
  viewOf(rules).visible;

/** Whether the schema hides fields from everyone. */
export const hidesFields = (rules: Rules | undefined): boolean => visibleOf(rules) !== undefined;

/** Changes when another definition may hide other fields; 0 when nothing is hidden. */
export const viewVersion = (rules: Rules | undefined): number =>
  rules !== undefined && hidesFields(rules) ? rules.version : 0;
