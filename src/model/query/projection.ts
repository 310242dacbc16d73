// Some members of a representation: those that a list was asked to show.

import { isObject, type ObjectTree, readTree, type Tree, writeTree } from "../../lib/json/tree.ts";

/** By name: all that is there, or only what is chosen of it. */
type Chosen = ReadonlyMap<string, Chosen | "all">;

/** Keeps these members and the `id`, in their order and as they were written. */
export function projectionOf(fields: readonly string[]): (representation: string) => string {
  const chosen = choiceOf(["id", ...fields]);
  return (representation) => {
    const tree = readTree(representation);
    return isObject(tree) ? writeTree(pick(tree, chosen)) : representation;
  };
}

function choiceOf(fields: readonly string[]): Chosen {
  const chosen = new Map<string, Chosen | "all">();
  const heads = new Set(fields.map((field) => field.split(".", 1)[0] ?? ""));
  for (const head of heads) {
    const below = fields.filter((field) => field.startsWith(`${head}.`));
    const rest = below.map((field) => field.slice(head.length + 1));
    chosen.set(head, fields.includes(head) ? "all" : choiceOf(rest));
  }
  return chosen;
}

function pick(tree: ObjectTree, chosen: Chosen): ObjectTree {
  const members = new Map<string, Tree>();
  for (const [name, value] of tree.members) {
    const choice = chosen.get(name);
    if (choice === "all") {
      members.set(name, value);
    } else if (choice !== undefined && isObject(value)) {
      const picked = pick(value, choice);
      if (picked.members.size > 0) members.set(name, picked);
    }
  }
  return { ...tree, members };
}
