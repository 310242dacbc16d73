// The values in rules that stand for the caller: $me, $me.roles, $my.{set} and $now.

/** A condition of a rule, in the language of list filters. */
export type RuleCondition = Readonly<Record<string, unknown>>;

export type SetValue = string | number | boolean;

/** What the values stand for in one request. */
export interface CallerValues {
  /** Undefined for a caller without a subject. */
  readonly me: string | undefined;
  readonly roles: readonly string[];
  readonly now: number;
  /** The values of a set; undefined for a caller without a subject. */
  set(name: string): readonly SetValue[] | undefined;
}

/** The field that stands for the owner of a resource. */
export const ownerName = "$owner";

const setPrefix = "$my.";

/** A value that the caller does not have. */
export const absent: unique symbol = Symbol("absent");

export type ListName = { readonly list: readonly SetValue[] };

/**
 * Returns what an operand stands for: itself if it is not a `$` value, a list for the names of lists, or
 * `absent`. `$$x` stands for `$x`.
 */
export function callerValue(
  operand: unknown,
  values: CallerValues,
): unknown | ListName | typeof absent {
  if (typeof operand !== "string" || !operand.startsWith("$")) return operand;
  if (operand.startsWith("$$")) return operand.slice(1);
  switch (operand) {
    case "$me":
      return values.me ?? absent;
    case "$me.roles":
      return { list: values.roles };
    case "$now":
      return new Date(values.now).toISOString();
  }
  const list = operand.startsWith(setPrefix)
    ? values.set(operand.slice(setPrefix.length))
    : undefined;
  return list === undefined ? absent : { list };
}

/** Returns what the operand of an operator stands for. Values of the caller can be in the list of an `in`. */
export function callerOperand(operator: string, operand: unknown, values: CallerValues): unknown {
  if (operator !== "in" || !Array.isArray(operand)) return callerValue(operand, values);
  const meant = operand.map((item) => callerValue(item, values));
  return meant.includes(absent) ? absent : meant;
}

export const isList = (value: unknown): value is ListName =>
  typeof value === "object" && value !== null && "list" in value;

/** Whether a text stands for a value of the caller. */
export const isValueName = (operand: unknown): operand is string =>
  typeof operand === "string" && operand.startsWith("$") && !operand.startsWith("$$");

/** Whether a text stands for a list of values. */
export const isListName = (operand: unknown): operand is string =>
  typeof operand === "string" && (operand === "$me.roles" || operand.startsWith(setPrefix));

/** Returns what is wrong with an operand that begins with `$`, or undefined. */
export function valueError(operand: unknown, sets: ReadonlySet<string>): string | undefined {
  if (!isValueName(operand)) return undefined;
  if (["$me", "$me.roles", "$now"].includes(operand)) return undefined;
  const name = operand.startsWith(setPrefix) ? operand.slice(setPrefix.length) : undefined;
  if (name === undefined)
    return `there is no value ${operand}; the values are $me, $me.roles, $my.{set} and $now. The text itself is written $${operand}`;
  return sets.has(name)
    ? undefined
    : `there is no set ${name}; PUT /-/access defines sets${sets.size === 0 ? "" : `: ${[...sets].join(", ")}`}`;
}

/** Returns every text in a condition, at any depth, with `$owner` as a field. */
export function textsIn(condition: unknown): readonly string[] {
  if (typeof condition === "string") return [condition];
  if (typeof condition !== "object" || condition === null) return [];
  if (Array.isArray(condition)) return condition.flatMap(textsIn);
  return Object.entries(condition).flatMap(([name, value]) => [
    ...(name === ownerName ? [name] : []),
    ...textsIn(value),
  ]);
}

/** Whether a condition has another meaning for another caller. */
export const dependsOnCaller = (condition: RuleCondition | undefined): boolean =>
  textsIn(condition).some((text) => /^\$(?:me(?:\.roles)?$|my\.|owner$)/.test(text));

/** The sets that a condition names. */
export const setsIn = (condition: unknown): readonly string[] =>
  textsIn(condition)
    .filter((text) => text.startsWith(setPrefix))
    .map((text) => text.slice(setPrefix.length));
