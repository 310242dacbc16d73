// The fields, sets and values that the rules of a collection name.

import type { Collection, Rules } from "../collection.ts";
import { type Definition, definitionOf } from "../definition.ts";
import { firstReference, type Reference, referencesOf } from "../reference.ts";
import { verbs } from "../token.ts";
import { type RuleCondition, setsIn, textsIn } from "./caller-values.ts";
import { grantsOf, type ListedRules } from "./grant.ts";

/** Every condition of the rules. */
const conditionsOf = (definition: Definition): readonly (RuleCondition | undefined)[] => [
  definition.boundary,
  ...verbs.flatMap((verb) =>
    grantsOf(definition, verb).flatMap(({ where, check, set }) => [where, check, set]),
  ),
];

const sets = new WeakMap<Rules | Collection, readonly string[]>();

/** The sets that the rules name. Returns the same list for the same object. */
export function setsOf(rules: Rules | Collection): readonly string[] {
  const cached = sets.get(rules);
  if (cached !== undefined) return cached;
  const found = [...new Set(conditionsOf(definitionOf(rules)).flatMap(setsIn))];
  sets.set(rules, found);
  return found;
}

/** The fields by which rules choose resources: they are indexed. One across a reference is in another collection. */
export function ruleFields(
  listed: ListedRules,
  references: readonly Reference[],
): readonly string[] {
  const chosen = verbs.flatMap((verb) => grantsOf(listed, verb).map(({ where }) => where));
  const fields = [listed.boundary, ...chosen].flatMap((condition) => namedFields(condition));
  const free = ["id", "createdAt", "updatedAt"];
  return [...new Set(fields)].filter(
    (field) => !free.includes(field) && firstReference(references, field) === undefined,
  );
}

const timed = new WeakMap<Rules | Collection, boolean>();

/** Whether the rules depend on the time. */
export function usesNow(rules: Rules | Collection): boolean {
  const cached = timed.get(rules);
  if (cached !== undefined) return cached;
  const conditions = conditionsOf(definitionOf(rules));
  const found = conditions.some((condition) => textsIn(condition).includes("$now"));
  timed.set(rules, found);
  return found;
}

/** Whether it depends on the time what callers see. */
export function readsNow(rules: Rules | Collection): boolean {
  const definition = definitionOf(rules);
  const conditions = [
    definition.boundary,
    ...grantsOf(definition, "read").map(({ where }) => where),
  ];
  return conditions.some((condition) => textsIn(condition).includes("$now"));
}

/** The fields that a boundary fixes after creation: of an array all, and a reference with what it leads to. */
export function fixedFields({ boundary, references }: Definition): readonly string[] {
  const all = referencesOf(references);
  return namedFields(boundary).map((path) => {
    const [field = ""] = (firstReference(all, path)?.field ?? path).split("[]");
    return field;
  });
}

/** The paths of the fields that a condition names. Those across a reference begin with it. */
export function namedFields(condition: unknown, prefix = ""): readonly string[] {
  if (typeof condition !== "object" || condition === null) return [];
  if (Array.isArray(condition)) return condition.flatMap((part) => namedFields(part, prefix));
  return Object.entries(condition).flatMap(([name, test]) => {
    if (["$or", "$and", "$not"].includes(name)) return namedFields(test, prefix);
    if (name.startsWith("$")) return [];
    const some =
      typeof test === "object" && test !== null && "some" in test ? test.some : undefined;
    const own = `${prefix}${name}`;
    return some === undefined ? [own] : namedFields(some, `${own}[].`);
  });
}
