// Parses JSON into a tree that keeps names and scalars as they were written, so a patch changes only what it names.
// Nested values can stay unparsed text, so reading a small part of a large document is cheap.

import { code, codeAt, Lexer } from "./lexer.ts";

/** A string is the text of a scalar, or of a value that is not parsed yet (`readLevel`). */
export type Tree = string | ObjectTree | ArrayTree;

export interface ObjectTree {
  readonly kind: "object";
  /** The members by decoded name. A Map has no prototype that a name could reach. */
  readonly members: Map<string, Tree>;
  /** The original text of names that have escapes. */
  readonly rawNames: ReadonlyMap<string, string> | undefined;
}

export interface ArrayTree {
  readonly kind: "array";
  readonly items: Tree[];
}

export const isEmptyList = (tree: Tree): boolean =>
  typeof tree === "object" && tree.kind === "array" && tree.items.length === 0;

export const isObject = (tree: Tree | undefined): tree is ObjectTree =>
  typeof tree === "object" && tree.kind === "object";

export const emptyObject = (): ObjectTree => ({
  kind: "object",
  members: new Map(),
  rawNames: undefined,
});

/** The value of a string member. Returns undefined for any other type. */
export function textOf({ members }: ObjectTree, name: string): string | undefined {
  const text = members.get(name);
  return typeof text === "string" && text.startsWith('"') ? JSON.parse(text) : undefined;
}

/** Parses a text that has passed the scan. */
export const readTree = (text: string): Tree => read(text, true);

/**
 * Parses the outermost level of a compact text that has passed the scan. Nested objects and arrays stay
 * text until `withLevelRead` parses their outermost level.
 */
const readLevel = (text: string): Tree => read(text, false);

/** Returns the value with its outermost level parsed. */
export const withLevelRead = (tree: Tree): Tree =>
  typeof tree === "string" && isContainerAt(tree, 0) ? readLevel(tree) : tree;

const isContainerAt = (text: string, at: number): boolean => {
  const unit = codeAt(text, at);
  return unit === code.openBrace || unit === code.openBracket;
};

/** Returns a member with its outermost level parsed, and stores it that way. */
export function memberOf({ members }: ObjectTree, name: string): Tree | undefined {
  const member = members.get(name);
  if (typeof member !== "string" || !isContainerAt(member, 0)) return member;
  const read = readLevel(member);
  members.set(name, read);
  return read;
}

/** Returns an item with its outermost level parsed, and stores it that way. */
export function itemOf({ items }: ArrayTree, index: number): Tree | undefined {
  const item = items[index];
  if (typeof item !== "string" || !isContainerAt(item, 0)) return item;
  const read = readLevel(item);
  items[index] = read;
  return read;
}

function read(text: string, isWhole: boolean): Tree {
  const lexer = new Lexer(text);
  let at = 0;

  const readValue = (isParsed = isWhole): Tree => {
    at = lexer.skipWhitespace(at);
    if (!isParsed && isContainerAt(text, at)) return readUntil(endOfContainer(text, at));
    switch (codeAt(text, at)) {
      case code.openBrace:
        return readObject();
      case code.openBracket:
        return readArray();
      case code.quote:
        return readUntil(lexer.string(at));
      case code.t:
      case code.n:
        return readUntil(at + "true".length);
      case code.f:
        return readUntil(at + "false".length);
      default:
        return readUntil(lexer.number(at));
    }
  };

  const readUntil = (end: number): string => {
    const start = at;
    at = end;
    return text.slice(start, end);
  };

  /** Reads `open item , item close` and moves behind the closing bracket. */
  const readList = (close: number, readItem: () => void) => {
    at = lexer.skipWhitespace(at + 1);
    while (codeAt(text, at) !== close) {
      readItem();
      at = lexer.skipWhitespace(at);
      if (codeAt(text, at) === code.comma) at = lexer.skipWhitespace(at + 1);
    }
    at++;
  };

  const readObject = (): ObjectTree => {
    const members = new Map<string, Tree>();
    let spellings: Map<string, string> | undefined;
    readList(code.closeBrace, () => {
      const written = readUntil(lexer.string(at));
      const name: string = lexer.hasEscape ? JSON.parse(written) : written.slice(1, -1);
      if (lexer.hasEscape) spellings = (spellings ?? new Map()).set(name, written);
      at = lexer.skipWhitespace(at) + 1; // the colon
      members.set(name, readValue());
    });
    return { kind: "object", members, rawNames: spellings };
  };

  const readArray = (): ArrayTree => {
    const items: Tree[] = [];
    readList(code.closeBracket, () => items.push(readValue()));
    return { kind: "array", items };
  };

  return readValue(true);
}

/** The end of an object or array that is known to be valid. */
function endOfContainer(text: string, start: number): number {
  let depth = 0;
  for (let at = start; ; at++) {
    const unit = text.charCodeAt(at);
    if (unit === code.quote) at = endOfString(text, at);
    else if (unit === code.openBrace || unit === code.openBracket) depth++;
    else if (unit === code.closeBrace || unit === code.closeBracket) {
      depth--;
      if (depth === 0) return at + 1;
    }
  }
}

/** The offset of the closing quote. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const unit = text.charCodeAt(at);
    if (unit === code.quote) return at;
    at += unit === code.backslash ? 2 : 1;
  }
}

export function writeTree(tree: Tree): string {
  if (typeof tree === "string") return tree;
  if (tree.kind === "array") return `[${tree.items.map(writeTree).join(",")}]`;
  let text = "";
  for (const [name, value] of tree.members) {
    const written = tree.rawNames?.get(name) ?? JSON.stringify(name);
    text += `${text === "" ? "" : ","}${written}:${writeTree(value)}`;
  }
  return `{${text}}`;
}

export function copyTree(tree: Tree): Tree {
  if (typeof tree === "string") return tree;
  if (tree.kind === "array") return { kind: "array", items: tree.items.map(copyTree) };
  const members = new Map([...tree.members].map(([name, value]) => [name, copyTree(value)]));
  return { ...tree, members };
}

/** The approximate length of the written text. Returns Infinity when the tree is deeper than `maxDepth`. */
export function sizeOf(tree: Tree, maxDepth: number): number {
  if (typeof tree === "string") return tree.length;
  if (maxDepth === 0) return Number.POSITIVE_INFINITY;
  const inner = maxDepth - 1;
  let size = "[]".length;
  if (tree.kind === "array") for (const item of tree.items) size += sizeOf(item, inner) + 1;
  else for (const [name, value] of tree.members) size += name.length + sizeOf(value, inner) + 4;
  return size;
}

/** Equality of RFC 6902 §4.6: numbers by value, strings by characters, members in any order. */
export function sameTree(one: Tree, other: Tree): boolean {
  const [a, b] = [withLevelRead(one), withLevelRead(other)];
  if (typeof a === "string" || typeof b === "string") {
    return typeof a === "string" && typeof b === "string" && JSON.parse(a) === JSON.parse(b);
  }
  if (a.kind === "array") {
    return (
      b.kind === "array" &&
      a.items.length === b.items.length &&
      a.items.every((_, index) => sameTree(itemOf(a, index) ?? "", itemOf(b, index) ?? ""))
    );
  }
  if (b.kind === "array" || a.members.size !== b.members.size) return false;
  for (const name of a.members.keys()) {
    const [value, another] = [memberOf(a, name), memberOf(b, name)];
    if (value === undefined || another === undefined || !sameTree(value, another)) return false;
  }
  return true;
}

/** Equal for values that `sameTree` finds equal, and for no others. */
export function normalText(tree: Tree): string {
  const read = withLevelRead(tree);
  if (typeof read === "string") return JSON.stringify(JSON.parse(read));
  if (read.kind === "array") return `[${read.items.map(normalText).join(",")}]`;
  const members = [...read.members].map(([name, value]) => [name, normalText(value)] as const);
  members.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
}
