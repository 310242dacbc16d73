// Problems and errors about values that are not unique, alone or together with others.

import { pointerTo } from "../lib/json/error-report.ts";
import { pathOf } from "../model/field-kind.ts";
import { fieldsOfUnique } from "../model/listed-index.ts";
import { type FieldError, Problem } from "../model/problem.ts";
import type { Clash } from "../store/store.ts";

export type { BuildProgress } from "../store/store.ts";

/** A write with values that another resource has in the unique index of this name. */
export function notUnique(name: string): Problem {
  const fields = fieldsOfUnique(name);
  const detail = isOne(fields)
    ? "another resource has this value, and it must be unique"
    : `another resource has the same ${joined(fields)}, and they must be unique together`;
  const rule = isOne(fields) ? "be unique" : "be unique together";
  return new Problem("conflict", `${joined(fields)} must ${rule}. Nothing was stored.`, {
    errors: errorsAt(fields, detail),
  });
}

/** A definition with a unique index in which stored resources have the same values. */
export function notUniqueProblem(name: string, clashes: readonly Clash[] = []): Problem {
  const fields = fieldsOfUnique(name);
  const same = joined(fields);
  const rule = isOne(fields) ? "it cannot be unique" : "they cannot be unique together";
  return new Problem(
    "conflict",
    `Several resources have the same ${same}, so ${rule}. Nothing was changed; \`?dry-run=true\` lists them.`,
    {
      errors: [
        { pointer: "/unique", detail: `the stored values of ${same} are not unique` },
        ...clashErrors(clashes),
      ],
    },
  );
}

/** One error for each pair of resources with the same values. */
export const clashErrors = (clashes: readonly Clash[]): readonly FieldError[] =>
  clashes.map(({ index, ids: [one, other] }) => ({
    pointer: "/unique",
    detail: `${one} and ${other} have the same ${joined(fieldsOfUnique(index))}`,
  }));

/** The errors of a stored resource that has the same values as another. */
export const duplicateErrors = (name: string, otherId: string): readonly FieldError[] => {
  const fields = fieldsOfUnique(name);
  const same = isOne(fields) ? "the same value" : `the same ${joined(fields)}`;
  return errorsAt(fields, `${otherId} has ${same}`);
};

const isOne = (fields: readonly string[]): boolean => fields.length === 1;

const joined = (fields: readonly string[]): string =>
  [fields.slice(0, -1).join(", "), ...fields.slice(-1)].filter((text) => text !== "").join(" and ");

const errorsAt = (fields: readonly string[], detail: string): readonly FieldError[] =>
  fields.map((field) => ({ pointer: pointerTo(pathOf(field)), detail }));
