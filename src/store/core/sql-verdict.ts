// Translates conditions to SQL that decides them on the stored JSON text: true, false, or NULL where only the checker can tell.

import { isOfElements, plainName } from "../../model/field-kind.ts";
import { type Condition, isCondition, type Predicate } from "../../model/query/predicate.ts";
import { keyOf, letters, minKey } from "../../model/query/sort-key.ts";
import { isInAny } from "../../model/query/spans.ts";
import type { RowTest } from "./filter-reads.ts";
import { elementTextsOf, isPlainText, numberBoundsOf } from "./key-bounds.ts";
import { textVerdict } from "./text-verdict.ts";
import {
  allOf,
  anyOf,
  constant,
  type Dialect,
  no,
  not,
  unknown,
  type Verdict,
  yes,
} from "./verdict.ts";

/** More ranges than this cost more in SQL than in the checker. */
const maxSpans = 16;

/** What `IndexedContent` does not read from the fields. */
const serverFields = new Set(["id", "createdAt", "updatedAt", ""]);

/** Returns an expression that is never false where all predicates hold, and never true where one does not. */
export const verdictOf = (predicates: readonly Predicate[], dialect: Dialect): Verdict =>
  allOf(predicates.map((predicate) => verdict(predicate, dialect)));

/** Whether SQL decides at least some rows. */
export const canDecide = (predicates: readonly Predicate[]): boolean =>
  verdictOf(predicates, anyDialect) !== unknown;

/** Whether SQL can read the values of these fields. */
export const canRead = (fields: readonly string[]): boolean =>
  textsAt(fields, anyDialect).length === fields.length;

/** Returns expressions for the JSON texts of fields, NULL where one is missing. */
export const textsAt = (fields: readonly string[], dialect: Dialect): readonly string[] =>
  fields.flatMap((field) => {
    if (field === "createdAt") return dialect.timeAt("created");
    return (field === "updatedAt" ? dialect.timeAt("updated") : jsonAt(field, dialect)) ?? [];
  });

/** Longer values are read with their resources, in chunks of limited size. */
const maxValueBytes = 200;

/** Returns an expression that is true, or NULL when the value must be read with its resource. */
const isReadable = (text: string): Verdict =>
  `(CASE WHEN ${text} = '?' OR octet_length(${text}) > ${maxValueBytes} THEN ${unknown} ELSE ${yes} END)`;

/** Returns an expression for what to do with a row: 0 to ignore it, 1 to count it, 2 to check it. */
export function rowClass(
  { conditions, wanted, fields }: Pick<RowTest, "conditions" | "wanted" | "fields">,
  dialect: Dialect,
): string {
  const readable = (fields ?? []).flatMap((field) => jsonAt(field, dialect) ?? []).map(isReadable);
  const matches = allOf([verdictOf(conditions, dialect), ...readable]);
  const isWanted = fields === undefined ? verdictOf(wanted, dialect) : no;
  // A bare NULL has no type on Postgres.
  const ofMatch = isWanted === unknown ? "2" : `CASE ${isWanted} WHEN FALSE THEN 1 ELSE 2 END`;
  return matches === unknown
    ? "2"
    : `CASE ${matches} WHEN TRUE THEN ${ofMatch} WHEN FALSE THEN 0 ELSE 2 END`;
}

function verdict(predicate: Predicate, dialect: Dialect): Verdict {
  if (isCondition(predicate)) {
    const plain = conditionVerdict(predicate, dialect);
    return predicate.isNegated === true ? not(plain) : plain;
  }
  if ("anyOf" in predicate) return anyOf(predicate.anyOf.map((each) => verdict(each, dialect)));
  if ("allOf" in predicate) return verdictOf(predicate.allOf, dialect);
  if ("not" in predicate) return not(verdict(predicate.not, dialect));
  if ("related" in predicate) return unknown;
  const value = jsonAt(`${predicate.field}[]`, dialect);
  if (value === undefined) return unknown;
  const array = elementVerdict(predicate.some, value, dialect);
  return byType(value, { text: no, number: no, array, false: no, true: no, missing: no });
}

/** The verdict on each type of value. Null and objects count as missing. */
interface Verdicts {
  readonly text: Verdict;
  readonly number: Verdict;
  readonly array: Verdict;
  readonly false: Verdict;
  readonly true: Verdict;
  readonly missing: Verdict;
}

/** Types are told apart by the first character of the JSON text, in the order of ASCII. */
function byType(value: string, verdicts: Verdicts): Verdict {
  const { text, number, array, missing } = verdicts;
  const branches: readonly (readonly [end: string, Verdict])[] = [
    ["#", text],
    [":", number],
    ["@", unknown],
    ["\\", array],
    ["g", verdicts.false],
    ["o", missing],
    ["u", verdicts.true],
  ];
  if (branches.every(([end, each]) => each === missing || end === "@") && missing !== unknown)
    return `(CASE WHEN ${value} = '?' THEN ${unknown} ELSE ${missing} END)`;
  if (branches.every(([, each]) => each === unknown) && missing === unknown) return unknown;
  const cases = branches.map(([end, each]) => `WHEN ${value} < '${end}' THEN ${each}`);
  return `(CASE ${cases.join(" ")} ELSE ${missing} END)`;
}

/** Returns the value at a path, or at the first array in it; undefined when SQL cannot address it. */
function jsonAt(field: string, dialect: Dialect): string | undefined {
  const names = field.split(".");
  const first = isOfElements(field) ? names.findIndex((name) => name !== plainName(name)) : -1;
  const path = (first < 0 ? names : names.slice(0, first + 1)).map(plainName);
  const isPlain = path.every((name) => name !== "" && isPlainText(name));
  return isPlain && !serverFields.has(field) ? dialect.valueAt(path) : undefined;
}

function conditionVerdict(condition: Condition, dialect: Dialect): Verdict {
  const { field, kind, spans, match } = condition;
  const value = jsonAt(field, dialect);
  if (value === undefined || spans.length > maxSpans) return unknown;
  const has = (key: string) => constant(match === undefined && isInAny(key, spans));
  const missing = has(minKey);
  const ofElements = elementVerdict(condition, value, dialect);
  if (isOfElements(field))
    return byType(value, {
      text: missing,
      number: missing,
      false: missing,
      true: missing,
      missing,
      array: ofElements,
    });
  return byType(value, {
    text: textVerdict(condition, value, dialect),
    number: match === undefined ? numberVerdict(condition, value, dialect) : no,
    array: kind === "any" ? ofElements : missing,
    false: has(keyOf(kind, false)),
    true: has(keyOf(kind, true)),
    missing,
  });
}

/** A double that SQL reads can differ from ours in its last digits. */
const tolerance = 1e-14;
const smallest = 1e-300;

function numberVerdict({ kind, spans }: Condition, value: string, dialect: Dialect): Verdict {
  const ranges = numberBoundsOf(kind === "time" ? letters.time : letters.number, spans);
  if (ranges === undefined) return unknown;
  const bounds = ranges.flatMap(({ from, to }) => [from, to]).filter((each) => each !== undefined);
  const number = dialect.numberIn(value);
  const inAny = anyOf(
    ranges.map(({ from, to }) =>
      allOf([
        from === undefined ? yes : `${number} > ${dialect.bind(from.value)}`,
        to === undefined ? yes : `${number} < ${dialect.bind(to.value)}`,
      ]),
    ),
  );
  if (bounds.length === 0) return inAny;
  const cases = [...new Set(bounds.map(({ value }) => value))].map((end) => {
    const isIn = constant(isInAny(keyOf(kind, end), spans));
    const margin = Math.max(Math.abs(end) * tolerance, smallest);
    const [low, high] = [dialect.bind(end - margin), dialect.bind(end + margin)];
    return `WHEN ${value} = ${dialect.bind(String(end))} THEN ${isIn}
      WHEN ${number} BETWEEN ${low} AND ${high} THEN ${unknown}`;
  });
  return `(CASE ${cases.join(" ")} ELSE ${inAny} END)`;
}

/** Returns an expression that is false when no element of an array matches, and NULL otherwise. */
function elementVerdict(predicate: Predicate, array: string, dialect: Dialect): Verdict {
  const parts = elementParts(predicate, array, dialect);
  if (parts === unknown || parts === no) return parts;
  const hasEscape = `${dialect.find(array, "'\\'")} > 0`;
  return `(CASE WHEN ${hasEscape} THEN ${unknown} WHEN ${parts} THEN ${unknown} ELSE ${no} END)`;
}

/** The array has no escapes, so that each text in it is written in one way. */
function elementParts(predicate: Predicate, array: string, dialect: Dialect): Verdict {
  if ("some" in predicate) return elementParts(predicate.some, array, dialect);
  if ("not" in predicate || "related" in predicate) return unknown;
  if ("allOf" in predicate) {
    const parts = predicate.allOf.map((each) => elementParts(each, array, dialect));
    const known = parts.filter((part) => part !== unknown);
    return known.length === 0 ? unknown : allOf(known);
  }
  if ("anyOf" in predicate) {
    const parts = predicate.anyOf.map((each) => elementParts(each, array, dialect));
    return parts.includes(unknown) ? unknown : anyOf(parts);
  }
  const texts = elementTextsOf(predicate);
  if (texts === undefined) return unknown;
  return anyOf(texts.map((text) => `${dialect.find(array, dialect.bind(text))} > 0`));
}

/** For finding out whether a predicate can be decided. */
const anyDialect: Dialect = {
  valueAt: () => "value",
  timeAt: () => "time",
  bind: () => "?",
  numberIn: (text) => text,
  find: (text, part) => `find(${text}, ${part})`,
};
