// A JSON text as a tree that keeps names and scalars as they were written, so a patch changes only what it names.

export type Tree = string | ObjectTree | ArrayTree;

export interface ObjectTree {
  readonly kind: "object";
  /** By decoded name; a Map, so that no name can reach a prototype. */
  readonly members: Map<string, Tree>;
  /** The names that were written otherwise than we would write them. */
  readonly spellings: Map<string, string>;
}

export interface ArrayTree {
  readonly kind: "array";
  readonly items: Tree[];
}

export const isObject = (tree: Tree | undefined): tree is ObjectTree =>
  typeof tree === "object" && tree.kind === "object";

export const emptyObject = (): ObjectTree => ({
  kind: "object",
  members: new Map(),
  spellings: new Map(),
});

/** The text of a member that is a string; undefined when it is not. */
export function textOf({ members }: ObjectTree, name: string): string | undefined {
  const text = members.get(name);
  return typeof text === "string" && text.startsWith('"') ? JSON.parse(text) : undefined;
}

/** Reads a text that is known to be valid, strict JSON. */
export function readTree(text: string): Tree {
  let at = 0;

  const skipSpace = () => {
    while (" \t\n\r".includes(text[at] ?? "x")) at++;
  };

  const readString = (): string => {
    const start = at++;
    while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
    return text.slice(start, ++at);
  };

  const readValue = (): Tree => {
    skipSpace();
    const first = text[at];
    if (first === "{") return readObject();
    if (first === "[") return readArray();
    if (first === '"') return readString();
    const start = at;
    while (at < text.length && !",]} \t\n\r".includes(text[at] ?? "")) at++;
    return text.slice(start, at);
  };

  /** Walks `open item , item close`, and leaves the place behind the closing bracket. */
  const readList = (close: string, readItem: () => void) => {
    at++;
    skipSpace();
    while (text[at] !== close) {
      readItem();
      skipSpace();
      if (text[at] === ",") at++;
      skipSpace();
    }
    at++;
  };

  const readObject = (): ObjectTree => {
    const object = emptyObject();
    readList("}", () => {
      const written = readString();
      const name: string = JSON.parse(written);
      if (written !== JSON.stringify(name)) object.spellings.set(name, written);
      skipSpace();
      at++; // the colon
      object.members.set(name, readValue());
    });
    return object;
  };

  const readArray = (): ArrayTree => {
    const items: Tree[] = [];
    readList("]", () => items.push(readValue()));
    return { kind: "array", items };
  };

  return readValue();
}

export function writeTree(tree: Tree): string {
  if (typeof tree === "string") return tree;
  if (tree.kind === "array") return `[${tree.items.map(writeTree).join(",")}]`;
  const members = [...tree.members].map(([name, value]) => {
    const written = tree.spellings.get(name) ?? JSON.stringify(name);
    return `${written}:${writeTree(value)}`;
  });
  return `{${members.join(",")}}`;
}

export function copyTree(tree: Tree): Tree {
  if (typeof tree === "string") return tree;
  if (tree.kind === "array") return { kind: "array", items: tree.items.map(copyTree) };
  const members = new Map([...tree.members].map(([name, value]) => [name, copyTree(value)]));
  return { kind: "object", members, spellings: new Map(tree.spellings) };
}

/** About how many characters it takes to write; no number is enough for what is nested too deep. */
export function sizeOf(tree: Tree, maxDepth: number): number {
  if (typeof tree === "string") return tree.length;
  if (maxDepth === 0) return Number.POSITIVE_INFINITY;
  const inner = maxDepth - 1;
  let size = "[]".length;
  if (tree.kind === "array") for (const item of tree.items) size += sizeOf(item, inner) + 1;
  else for (const [name, value] of tree.members) size += name.length + sizeOf(value, inner) + 4;
  return size;
}

/** Equal as RFC 6902 §4.6 means it: numbers by value, strings by characters, members in any order. */
export function sameTree(a: Tree, b: Tree): boolean {
  if (typeof a === "string" || typeof b === "string") {
    return typeof a === "string" && typeof b === "string" && JSON.parse(a) === JSON.parse(b);
  }
  if (a.kind === "array") {
    return (
      b.kind === "array" &&
      a.items.length === b.items.length &&
      a.items.every((item, index) => sameTree(item, b.items[index] ?? ""))
    );
  }
  if (b.kind === "array" || a.members.size !== b.members.size) return false;
  for (const [name, value] of a.members) {
    const other = b.members.get(name);
    if (other === undefined || !sameTree(value, other)) return false;
  }
  return true;
}
