// Generates random JSON documents with known errors, and texts that they can be written as.

import fc, { anyText } from "../fast-check.ts";

/** A JSON value as it is written: names may repeat, numbers are literals, strings have a spelling. */
export type Written =
  | { readonly kind: "object"; readonly members: readonly WrittenMember[] }
  | { readonly kind: "array"; readonly items: readonly Written[] }
  | { readonly kind: "string"; readonly text: WrittenString }
  | { readonly kind: "literal"; readonly literal: string; readonly isExact: boolean };

export interface WrittenMember {
  readonly name: WrittenString;
  readonly value: Written;
}

/** A string and whether all its characters are written as `\u0041`. */
export interface WrittenString {
  readonly value: string;
  readonly isEscaped: boolean;
}

const exact = ["true", "false", "null", "0", "-0", "1.0", "1E2", "0.1", "100000000000000000000000"];
const lossy = ["12345678901234567890", "1e400", "0.1000000000000000055", "9007199254740993"];

const literal = fc.oneof(
  fc.constantFrom(...exact).map((text) => ({ literal: text, isExact: true })),
  fc.constantFrom(...lossy).map((text) => ({ literal: text, isExact: false })),
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .map((value) => ({ literal: JSON.stringify(value), isExact: true })),
);

/** Sometimes half of a surrogate pair, a forbidden name, or one that the server sets. */
const text = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("a", "b", "c", "", "/", "~", "id", "createdAt") },
  { weight: 6, arbitrary: anyText({ maxLength: 6 }) },
  { weight: 1, arbitrary: fc.constantFrom("\ud800", "x\udc00y", "\udc00\ud800", "__proto__") },
);
const writtenString = fc.record({ value: text, isEscaped: fc.boolean() });

const { object } = fc.letrec<{ value: Written; object: Written & { kind: "object" } }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    literal.map((written) => ({ kind: "literal" as const, ...written })),
    writtenString.map((written) => ({ kind: "string" as const, text: written })),
    tie("object"),
    fc
      .array(tie("value"), { maxLength: 5 })
      .map((items) => ({ kind: "array" as const, items: items as readonly Written[] })),
  ),
  object: fc
    .array(fc.record({ name: writtenString, value: tie("value") }), { maxLength: 6 })
    .map((members) => ({ kind: "object" as const, members: members as readonly WrittenMember[] })),
}));

export const anyObject = object;

/** Runs of whitespace, used one after the other between the parts of a text. */
export const anySpacing = fc.array(fc.constantFrom("", "", " ", "\n", "\r\n\t", "  "), {
  minLength: 1,
  maxLength: 7,
});

export function write(value: Written, spacing: readonly string[] = [""]): string {
  let turn = 0;
  const space = () => spacing[turn++ % spacing.length] ?? "";
  const list = (open: string, parts: readonly (() => string)[], close: string): string =>
    parts.length === 0
      ? `${open}${space()}${close}`
      : `${open}${parts.map((part) => space() + part() + space()).join(",")}${close}`;
  const writeValue = (item: Written): string => {
    switch (item.kind) {
      case "object":
        return list(
          "{",
          item.members.map((member) => () => writeMember(member)),
          "}",
        );
      case "array":
        return list(
          "[",
          item.items.map((each) => () => writeValue(each)),
          "]",
        );
      case "string":
        return writeString(item.text);
      case "literal":
        return item.literal;
    }
  };
  const writeMember = ({ name, value: item }: WrittenMember): string =>
    `${writeString(name)}${space()}:${space()}${writeValue(item)}`;
  return space() + writeValue(value) + space();
}

function writeString({ value, isEscaped }: WrittenString): string {
  if (!isEscaped) return JSON.stringify(value);
  const units = Array.from({ length: value.length }, (_, index) => value.charCodeAt(index));
  return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("")}"`;
}

export type ErrorKind = "surrogate" | "prototype" | "repeated" | "inexact";

/** Returns the errors of the value: each kind at each pointer once. */
export function errorsOf(root: Written): ReadonlySet<string> {
  const found = new Set<string>();
  const walk = (value: Written, pointer: string): void => {
    const note = (kind: ErrorKind, at: string) => found.add(`${kind} ${at.toWellFormed()}`);
    if (value.kind === "literal" && !value.isExact) note("inexact", pointer);
    if (value.kind === "string" && !value.text.value.isWellFormed()) note("surrogate", pointer);
    if (value.kind === "array")
      for (const [index, item] of value.items.entries()) walk(item, `${pointer}/${index}`);
    if (value.kind !== "object") return;
    const names = value.members.map(({ name }) => name.value);
    for (const [index, member] of value.members.entries()) {
      const name = member.name.value;
      const at = `${pointer}/${name.replace(/~/g, "~0").replace(/\//g, "~1")}`;
      if (!name.isWellFormed()) note("surrogate", at);
      if (name === "__proto__") note("prototype", at);
      if (names.indexOf(name) < index) note("repeated", at);
      walk(member.value, at);
    }
  };
  walk(root, "");
  return found;
}
