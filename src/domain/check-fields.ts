// Checks the fields that a request asks to see, where it is not a list.

import type { Principal } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import {
  errorAt,
  isAlwaysShown,
  isOnlyForAdmins,
  type NamedField,
} from "../model/query/list-request.ts";
import { queryableFieldsOf } from "../model/query/queryable.ts";
import { isAdmin } from "../model/token.ts";
import type { CollectionAccess } from "./collection-access.ts";
import { explainUnknown, misspelledIn } from "./related-fields.ts";

/**
 * Rejects fields that the definition does not have or hides, and those that the principal may not see.
 * Any field may be named without rules: of a new collection, and of a batch for several collections.
 */
export function checkFields(
  principal: Principal,
  access: CollectionAccess | undefined,
  fields: readonly NamedField[],
): Problem | undefined {
  const errors = [...adminOnlyErrors(fields, isAdmin(principal)), ...unknownErrors(access, fields)];
  if (errors.length === 0) return undefined;
  return new Problem(
    "invalid-parameter",
    "The query string is not valid; `errors` lists each error.",
    { errors },
  );
}

function unknownErrors(access: CollectionAccess | undefined, fields: readonly NamedField[]) {
  if (access?.rules === undefined) return [];
  const queryable = queryableFieldsOf(access.rules.definition);
  const view = access.view("read");
  return fields
    .filter(({ field }) => !isAlwaysShown(field))
    .flatMap(({ field, place }) => {
      const misspelled = misspelledIn(queryable, field);
      if (misspelled === undefined && queryable.find(field) !== undefined) return [];
      return [errorAt(place, misspelled ?? explainUnknown({ queryable, view }, field))];
    });
}

export const adminOnlyErrors = (fields: readonly NamedField[], isForAdmin: boolean) =>
  fields
    .filter(({ field }) => !isForAdmin && isOnlyForAdmins(field))
    .map(({ field, place }) => errorAt(place, `only admin tokens may read ${field}`));
