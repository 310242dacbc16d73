// Finds places in a JSON text: the names that lead to one, and the one that a JSON Pointer names.

import { ensureSyntaxTree, syntaxTree } from "@codemirror/language";
import type { EditorState } from "@codemirror/state";

export type Node = ReturnType<ReturnType<typeof syntaxTree>["resolveInner"]>;

const longestParseMs = 300;

export const treeOf = (state: EditorState) =>
  ensureSyntaxTree(state, state.doc.length, longestParseMs) ?? syntaxTree(state);

const textAt = (state: EditorState, { from, to }: Node): string => state.sliceDoc(from, to);

/** Without its quotes; a name that is not complete stays as it is. */
export function nameOf(state: EditorState, property: Node): string {
  const text = property.firstChild ? textAt(state, property.firstChild) : "";
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

/** The names and positions that lead to a node. */
export function pathOf(state: EditorState, node: Node): readonly (string | number)[] {
  const parent = node.parent;
  if (parent === null) return [];
  const above = pathOf(state, parent);
  if (parent.name === "Property" && node.name !== "PropertyName")
    return [...above, nameOf(state, parent)];
  return parent.name === "Array" && node.name !== "[" ? [...above, 0] : above;
}

const values = new Set(["Object", "Array", "String", "Number", "True", "False", "Null"]);

const childrenOf = ({ firstChild }: Node): readonly Node[] => {
  const found: Node[] = [];
  for (let node = firstChild; node !== null; node = node.nextSibling) found.push(node);
  return found;
};

/** The member of an object or a list. */
function childOf(state: EditorState, node: Node, name: string): Node | undefined {
  if (node.name === "Array")
    return childrenOf(node).filter((child) => values.has(child.name))[Number(name)];
  const property = node.getChildren("Property").find((one) => nameOf(state, one) === name);
  return property && (property.lastChild ?? property);
}

/** What a JSON Pointer names, or the closest thing around it that is there. */
export function placeOf(state: EditorState, pointer: string): { from: number; to: number } {
  const names = pointer.split("/").slice(1);
  let node = treeOf(state).topNode.firstChild;
  let found = node;
  for (const name of names) {
    const decoded = name.replaceAll("~1", "/").replaceAll("~0", "~");
    node = (node && childOf(state, node, decoded)) ?? null;
    if (node === null) break;
    found = node;
  }
  const { from, to } = found ?? { from: 0, to: 0 };
  // Of something long its first line is enough.
  return { from, to: Math.min(to, state.doc.lineAt(from).to) };
}
