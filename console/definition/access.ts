// Who may do something with a collection: a word, or grants with their conditions.

import { isObject, type Json, type JsonObject } from "../api/json.ts";
import type { Definition } from "../api/types.ts";
import { withMember } from "./model.ts";

export const verbs = ["read", "create", "update", "delete"] as const;
export type Verb = (typeof verbs)[number];

/** See docs/rules.md. What this file does not know stays as it is. */
export type Grant = JsonObject;

/** Who may do something, where a word says it; undefined where grants do. */
export function accessWord(definition: Definition, verb: Verb): string | undefined {
  const given = definition.access?.[verb] ?? "token";
  return typeof given === "string" ? given : undefined;
}

export const grantsOf = (definition: Definition, verb: Verb): readonly Grant[] => {
  const given = definition.access?.[verb];
  return Array.isArray(given) ? (given as readonly Json[]).filter(isObject) : [];
};

/** A word, or grants. */
export function changeAccess(
  definition: Definition,
  verb: Verb,
  value: string | readonly Grant[],
): Definition {
  const { [verb]: _, ...others } = definition.access ?? {};
  const access = value === "token" ? others : { ...definition.access, [verb]: value };
  return withMember(definition, "access", access);
}

/** The first grant of a verb, which says what the word before said. */
export const firstGrant = (word: string | undefined): Grant => ({
  name: word === "public" ? "everyone" : word === "owner" ? "owners" : "tokens",
  to: word === "public" ? "everyone" : word === "owner" ? "owner" : "token",
});

export const audiences = ["everyone", "token", "owner", "role", "scope"] as const;
export type Audience = (typeof audiences)[number];

/** For whom a grant is. Undefined for what is written in another way. */
export function audienceOf({ to }: Grant): { kind: Audience; name: string } | undefined {
  if (to === "everyone" || to === "token" || to === "owner") return { kind: to, name: "" };
  if (!isObject(to) || Object.keys(to).length !== 1) return undefined;
  const [[kind, name] = ["", ""]] = Object.entries(to);
  return (kind === "role" || kind === "scope") && typeof name === "string"
    ? { kind, name }
    : undefined;
}

export const audienceValue = (kind: Audience, name: string): Json =>
  kind === "role" || kind === "scope" ? { [kind]: name } : kind;

/** Undefined and what is empty are left out. */
export function changeGrant(grant: Grant, name: string, value: Json | undefined): Grant {
  const { [name]: _, ...others } = grant;
  const isEmpty = value === undefined || (isObject(value) && Object.keys(value).length === 0);
  return isEmpty ? others : { ...grant, [name]: value };
}

/** The conditions that a grant of a verb can have, by the name that people see. */
export const conditionsFor = (verb: Verb): readonly (readonly [name: string, label: string])[] => [
  ...(verb === "create"
    ? []
    : [["where", verb === "update" ? "Before, it has" : "If it has"] as const]),
  ...(verb === "create" ? [["check", "If it has"] as const] : []),
  ...(verb === "update" ? [["check", "After, it has"] as const] : []),
];

export const hasFields = (verb: Verb): boolean => verb !== "delete";
export const hasValues = (verb: Verb): boolean => verb === "create" || verb === "update";
