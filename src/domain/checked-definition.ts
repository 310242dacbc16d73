// Reads and checks a definition: by itself, by the access document, and by the collections that it refers to.

import { pointerTo } from "../lib/json/error-report.ts";
import { runInTurns } from "../lib/turns.ts";
import type { Definition } from "../model/definition.ts";
import { isCollectionName } from "../model/id.ts";
import type { Principal } from "../model/principal.ts";
import { type FieldError, Problem } from "../model/problem.ts";
import { readSteps } from "../model/read-definition.ts";
import { referencesOf } from "../model/reference.ts";
import { type AccessDocument, accessDocumentOf, accessName } from "../model/schemas/access.ts";
import { requireAdmin } from "./access.ts";
import { checkRules, type RulesView } from "./check-rules.ts";
import { collectionNotFound } from "./problems.ts";

/** Reads a definition. The collections that it refers to must exist, except for the server's own. */
export async function checkedDefinition(
  store: RulesView,
  principal: Principal,
  name: string,
  text: string,
  document?: AccessDocument,
): Promise<Definition | Problem> {
  const definition = requireAdmin(principal) ?? (await read(name, text));
  if (definition instanceof Problem) return definition;
  const errors: FieldError[] = [];
  const references = principal.kind === "system" ? [] : referencesOf(definition.references);
  for (const { field, collection } of references)
    if (collection !== name && (await store.rules(collection)) === undefined)
      errors.push({
        pointer: pointerTo(["references", field, "collection"]),
        detail: `there is no collection ${collection}; create it first`,
      });
  const { roles, sets } = document ?? accessDocumentOf(await store.rules(accessName));
  const names = { roles: new Set(Object.keys(roles)), sets: new Set(Object.keys(sets)) };
  errors.push(...(await checkRules(store, name, definition, names)));
  return errors.length === 0 ? definition : invalid(errors);
}

export const requireName = (name: string): Problem | undefined =>
  isCollectionName(name) ? undefined : collectionNotFound(name);

async function read(name: string, text: string): Promise<Definition | Problem> {
  const malformed = requireName(name);
  if (malformed !== undefined) return malformed;
  const definition = await runInTurns(readSteps(text));
  return "access" in definition ? definition : invalid(definition);
}

const invalid = (errors: readonly FieldError[]): Problem =>
  new Problem("invalid-body", "The definition is not valid; `errors` lists each error.", {
    errors,
  });

export const compact = (text: string): string => JSON.stringify(JSON.parse(text));
