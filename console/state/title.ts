// What a resource is called where there is room for one line: its name, title or the like.

import { type Json, type JsonObject, memberOf } from "../api/json.ts";

const names = ["name", "title", "label", "displayName", "fullName", "subject"];
const otherNames = ["email", "username", "number", "code", "sku", "slug", "key"];

/** Those of some fields that can be a title, the best one first. */
export const titleFields = (fields: readonly string[]): readonly string[] => [
  ...names.filter((name) => fields.includes(name)),
  ...fields.filter((name) => /(?:name|title)$/i.test(name) && !names.includes(name)),
  ...otherNames.filter((name) => fields.includes(name)),
];

const longest = 200;

const isText = (value: Json | undefined): value is string =>
  typeof value === "string" && value.trim() !== "";

export function titleOf(resource: JsonObject): string {
  const wanted = titleFields(Object.keys(resource)).map((name) => memberOf(resource, name));
  const found = wanted.find((value) => isText(value) || typeof value === "number");
  return String(found ?? firstText(resource) ?? memberOf(resource, "id") ?? "").slice(0, longest);
}

/** The title may be a number; any other field must be a text. */
function firstText(resource: JsonObject): string | undefined {
  const members = Object.entries(resource);
  const texts = members.filter(([name]) => !["id", "createdAt", "updatedAt"].includes(name));
  return texts
    .map(([, value]) => value)
    .find((value) => isText(value) && value.length <= longest) as string | undefined;
}
