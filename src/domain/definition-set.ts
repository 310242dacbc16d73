// Checks the access document and many definitions as they will be together, and sets all of them or none.

import { randomUUID } from "node:crypto";
import type { Collection, Rules } from "../model/collection.ts";
import { type Definition, definitionOf } from "../model/definition.ts";
import type { Principal } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import { referencesOf } from "../model/reference.ts";
import { accessName } from "../model/schemas/access.ts";
import { type Change, failureOf, type Store } from "../store/store.ts";
import { requireAdmin } from "./access.ts";
import { checkedDocument } from "./access-documents.ts";
import { checkedDefinition, compact } from "./checked-definition.ts";
import { isSameAccess, notBefore, withdrawal } from "./contract.ts";
import { notUniqueProblem } from "./not-unique.ts";
import { retryOnConflict } from "./retry.ts";

export interface DefinitionSet {
  /** The text of the access document; without it the stored one stays. */
  readonly access?: string | undefined;
  readonly definitions: readonly { readonly name: string; readonly text: string }[];
  /** Collections that are deleted after it, so that their rules do not matter. */
  readonly removed?: readonly string[];
}

/** A collection whose definition has changed, or the access document under its own name. */
export interface AppliedDefinition {
  readonly name: string;
  readonly isNew: boolean;
  readonly definition: Definition;
}

/** Why nothing was set. */
export interface RefusedSet {
  readonly name: string;
  readonly problem: Problem;
}

/** What is set already is not set again, and not checked. */
export function applyDefinitionSet(
  store: Store,
  principal: Principal,
  set: DefinitionSet,
  clock: () => number,
): Promise<readonly AppliedDefinition[] | RefusedSet> {
  return retryOnConflict(async () => {
    const stored = new Map((await store.collections()).map((each) => [each.name, each]));
    const checked = await check(store, principal, set, stored);
    if ("problem" in checked) return checked;
    const at = notBefore(clock(), [...stored.values()]);
    const changes = changesFor(checked, stored, at);
    const [first] = await store.commit(changes);
    const failed = first && failureOf(first);
    if (failed?.kind === "outdated") return undefined;
    if (failed?.kind === "conflict") {
      const { collection = "" } = changes[first?.kind === "none" ? first.index : 0] ?? {};
      return { name: collection, problem: notUniqueProblem(failed.field, failed.clashes) };
    }
    return checked.map(({ name, definition }) => ({ name, definition, isNew: !stored.has(name) }));
  });
}

/** A reference would create its target, so that a new target would not be new when it is defined. */
function changesFor(
  checked: readonly CheckedDefinition[],
  stored: ReadonlyMap<string, Collection>,
  at: number,
): readonly Extract<Change, { kind: "define" }>[] {
  const together = randomUUID();
  const withdraws = ({ name, text }: CheckedDefinition) =>
    !isSameAccess(stored.get(name)?.definition ?? text, text);
  const define = (collection: string, definition: string, replaces: string | null) =>
    ({ kind: "define", collection, definition, replaces, together, at }) as const;
  const references = checked.flatMap(({ definition }) => referencesOf(definition.references));
  const targets = new Set(references.map(({ collection }) => collection));
  const hasWithdrawals =
    checked.every(({ name }) => name !== accessName) && checked.some(withdraws);
  const early = checked.filter(({ name }) => targets.has(name) && !stored.has(name));
  return [
    ...early.map(({ name }) => define(name, "{}", null)),
    ...checked.map((each) => {
      const before = early.includes(each) ? "{}" : stored.get(each.name)?.definition;
      return define(each.name, each.text, before ?? null);
    }),
    ...(hasWithdrawals ? [{ ...withdrawal(stored.get(accessName), at), together }] : []),
  ];
}

interface CheckedDefinition {
  readonly name: string;
  /** As it is stored. */
  readonly text: string;
  readonly definition: Definition;
}

/** Returns what differs from what is stored, if all of it is valid together. */
async function check(
  store: Store,
  principal: Principal,
  { access, definitions, removed = [] }: DefinitionSet,
  stored: ReadonlyMap<string, Collection>,
): Promise<readonly CheckedDefinition[] | RefusedSet> {
  const forbidden = requireAdmin(principal);
  if (forbidden !== undefined) return { name: accessName, problem: forbidden };
  const texts = definitions.map(({ name, text }) => ({ name, text: compact(text) }));
  const rules = new Map(texts.map(({ name, text }) => [name, rulesOf(text)]));
  const view = { rules: (name: string) => rules.get(name) ?? store.rules(name) };
  const checked: CheckedDefinition[] = [];
  if (access !== undefined) {
    const others = [...stored.values()].filter(
      ({ name }) => !rules.has(name) && !removed.includes(name),
    );
    const named = texts.map(({ name, text }) => ({ name, ...rulesOf(text) }));
    const document = await checkedDocument(view, principal, access, [...others, ...named]);
    if (document instanceof Problem) return { name: accessName, problem: document };
    const text = JSON.stringify(document);
    rules.set(accessName, rulesOf(text));
    checked.push({ name: accessName, text, definition: definitionOf(rulesOf("{}")) });
  }
  for (const { name, text } of texts) {
    if (stored.get(name)?.definition === text) continue;
    const definition = await checkedDefinition(view, principal, name, text);
    if (definition instanceof Problem) return { name, problem: definition };
    checked.push({ name, text, definition });
  }
  return checked.filter(({ name, text }) => stored.get(name)?.definition !== text);
}

const rulesOf = (definition: string): Rules => ({ version: 0, definition });
