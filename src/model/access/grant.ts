// Grants: the rules that let a kind of caller do a verb, with some resources and some fields.

import type { Collection, Rules } from "../collection.ts";
import { type Definition, definitionOf } from "../definition.ts";
import type { Grant } from "../grant-schema.ts";
import { type Verb, verbs } from "../token.ts";
import { dependsOnCaller, ownerName, type RuleCondition, textsIn } from "./caller-values.ts";

export type { Grant };

/** The grants that a shorthand stands for. A token with the scope may always do what is public. */
const shorthands: Readonly<Record<string, readonly Grant[]>> = {
  public: [{ name: "public", to: "everyone" }],
  token: [{ name: "token", to: "token" }],
  owner: [{ name: "owner", to: "owner" }],
  admin: [],
};

/** The members of a definition that rules are in. */
export interface ListedRules {
  readonly access?: Readonly<Partial<Record<Verb, string | readonly Grant[]>>>;
  readonly boundary?: RuleCondition | undefined;
}

/** Returns the grants of a verb, those of a shorthand too. */
export function grantsOf({ access }: ListedRules, verb: Verb): readonly Grant[] {
  const given = access?.[verb] ?? "token";
  return typeof given === "string" ? (shorthands[given] ?? []) : given;
}

/** Whether a rule decides by more than a shorthand. */
export const hasRules = ({ access, boundary }: ListedRules): boolean =>
  boundary !== undefined || verbs.some((verb) => typeof (access?.[verb] ?? "token") !== "string");

/** Whether some callers see only some of the fields. */
export const hidesFields = (listed: ListedRules): boolean =>
  grantsOf(listed, "read").some(({ fields }) => fields !== undefined);

/** Remembers what is found about a definition. */
function ofDefinition(find: (definition: Definition) => boolean) {
  const known = new WeakMap<Definition, boolean>();
  return (rules: Rules | Collection): boolean => {
    const definition = definitionOf(rules);
    const cached = known.get(definition);
    if (cached !== undefined) return cached;
    const found = find(definition);
    known.set(definition, found);
    return found;
  };
}

/** Whether everyone sees the same resources and fields, so that shared caches may store them. */
export const isPublic = ofDefinition(isOpenToAll);

/**
 * Whether others may see more than callers without a token, who all see the same: shared caches may store
 * that. A rule that names something of the caller could mean something else for each.
 */
export const isPublicInPart = ofDefinition((definition) => {
  const grants = grantsOf(definition, "read").filter(({ to }) => to === "everyone");
  const conditions = [definition.boundary, ...grants.map(({ where }) => where)];
  return grants.length > 0 && !conditions.some(dependsOnCaller) && !isOpenToAll(definition);
});

function isOpenToAll(definition: Definition): boolean {
  const grants = grantsOf(definition, "read");
  return (
    grants.length > 0 &&
    !dependsOnCaller(definition.boundary) &&
    grants.every(({ to, where }) => to === "everyone" && !dependsOnCaller(where))
  );
}

/** Whether what is shown depends on who asks, beyond the scope of the token. */
export function isByCaller(rules: Rules | Collection): boolean {
  const definition = definitionOf(rules);
  if (!hasRules(definition)) return definition.access.read === "owner";
  return !isPublic(rules);
}

const owned = new WeakMap<ListedRules, boolean>();

/** Whether access depends on the owner of a resource: then resources have one, and it is indexed. */
export function namesOwner(listed: ListedRules): boolean {
  const cached = owned.get(listed);
  if (cached !== undefined) return cached;
  const found = isByOwner(listed);
  owned.set(listed, found);
  return found;
}

const isByOwner = (listed: ListedRules): boolean =>
  textsIn(listed.boundary).includes(ownerName) ||
  verbs.some((verb) =>
    grantsOf(listed, verb).some(
      ({ to, where, check }) =>
        to === "owner" || [...textsIn(where), ...textsIn(check)].includes(ownerName),
    ),
  );
