// Makes a function that reduces the text of a representation to the members that the `fields` parameter names.

import { isObject, type ObjectTree, readTree, type Tree, writeTree } from "../../lib/json/tree.ts";

/** The selected members by name: the whole member, or some of its nested members. */
type Selected = ReadonlyMap<string, Selected | "all">;

/** Returns a function that keeps these members and the `id`, in their order and as they were written. */
export function projectionOf(fields: readonly string[]): (representation: string) => string {
  const selected = selectionOf(["id", ...fields]);
  return (representation) => {
    const tree = readTree(representation);
    return isObject(tree) ? writeTree(pick(tree, selected)) : representation;
  };
}

function selectionOf(fields: readonly string[]): Selected {
  const selected = new Map<string, Selected | "all">();
  const heads = new Set(fields.map((field) => field.split(".", 1)[0] ?? ""));
  for (const head of heads) {
    const below = fields.filter((field) => field.startsWith(`${head}.`));
    const rest = below.map((field) => field.slice(head.length + 1));
    selected.set(head, fields.includes(head) ? "all" : selectionOf(rest));
  }
  return selected;
}

function pick(tree: ObjectTree, selected: Selected): ObjectTree {
  const members = new Map<string, Tree>();
  for (const [name, value] of tree.members) {
    const choice = selected.get(name);
    if (choice === "all") {
      members.set(name, value);
    } else if (choice !== undefined && isObject(value)) {
      const picked = pick(value, choice);
      if (picked.members.size > 0) members.set(name, picked);
    }
  }
  return { ...tree, members };
}
