// What a schema says about a place in a JSON text: names, values and descriptions.

import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { EditorState } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import type { Json } from "../api/json.ts";
import { schemaOf } from "../api/schema.ts";
import type { Schema } from "../api/types.ts";
import { type Node, nameOf, pathOf, treeOf } from "./json-places.ts";

/** Offers the names that an object may have, or the values that a member may have. */
export function completeBySchema(
  context: CompletionContext,
  root: Schema,
): CompletionResult | null {
  const { state, pos, explicit } = context;
  const word = context.matchBefore(/"?[\w.$-]*/);
  const from = word?.from ?? pos;
  if (!explicit && from === pos) return null;
  const node = treeOf(state).resolveInner(from, -1);
  const inner = treeOf(state).resolveInner(pos, -1);
  const isValue = isAfterColon(state, from);
  return isValue
    ? valuesOf(schemaOf(root, valuePath(state, node, inner)), from)
    : namesOf(state, enclosing(node, "Object"), root, from);
}

const isAfterColon = (state: EditorState, from: number): boolean =>
  /[:[]\s*$/.test(state.sliceDoc(Math.max(0, from - 200), from)) ||
  /\[[^\]{]*,\s*$/.test(state.sliceDoc(Math.max(0, from - 200), from));

function enclosing(node: Node | null, name: string): Node | null {
  return node === null || node.name === name ? node : enclosing(node.parent, name);
}

/** A value that is missing yet is no node, so its property is the one before. */
function valuePath(state: EditorState, node: Node, inner: Node): readonly (string | number)[] {
  const property = enclosing(inner, "Property") ?? enclosing(node, "Property");
  if (property === null) return [];
  const isInArray = (enclosing(inner, "Array")?.from ?? -1) > property.from;
  const path = [...pathOf(state, property), nameOf(state, property)];
  return isInArray ? [...path, 0] : path;
}

/** A quote that was closed by itself is part of what is replaced. */
const putText =
  (text: string) =>
  (view: EditorView, _: Completion, from: number, to: number): void => {
    const isClosed = view.state.sliceDoc(from, from + 1) + view.state.sliceDoc(to, to + 1) === '""';
    const changes = { from, to: isClosed && to > from ? to + 1 : to, insert: text };
    view.dispatch({ changes, selection: { anchor: from + text.length } });
  };

function valuesOf(schema: Schema, from: number): CompletionResult | null {
  const { enum: values, const: only, default: usual, examples = [], type } = schema;
  const all: readonly (Json | undefined)[] = [
    ...(values ?? []),
    ...[only, usual, ...examples],
    ...(type === "boolean" ? [true, false] : []),
  ];
  const texts = new Set(
    all.filter((value) => value !== undefined).map((one) => JSON.stringify(one)),
  );
  if (texts.size === 0) return null;
  return {
    from,
    options: [...texts].map((label) => ({ label, type: "enum", apply: putText(label) })),
  };
}

function namesOf(
  state: EditorState,
  object: Node | null,
  root: Schema,
  from: number,
): CompletionResult | null {
  if (object === null) return null;
  const { properties = {}, required = [] } = schemaOf(root, pathOf(state, object));
  const present = new Set(object.getChildren("Property").map((one) => nameOf(state, one)));
  const options = Object.entries(properties)
    .filter(([name]) => !present.has(name))
    .map(([name, { title, description }]) => ({
      label: JSON.stringify(name),
      apply: putText(`${JSON.stringify(name)}: `),
      type: "property",
      ...(required.includes(name) && { detail: "required" }),
      ...((description ?? title) && { info: `${description ?? title}` }),
    }));
  return options.length === 0 ? null : { from, options };
}

/** The description of the member at a position. */
export function describeAt(
  state: EditorState,
  position: number,
  root: Schema,
): { text: string; from: number; to: number } | undefined {
  const property = enclosing(treeOf(state).resolveInner(position, 1), "Property");
  const name = property?.firstChild;
  if (!property || !name || position > name.to) return undefined;
  const schema = schemaOf(root, [...pathOf(state, property), nameOf(state, property)]);
  const text = [schema.title, schema.description].filter(Boolean).join("\n");
  return text === "" ? undefined : { text, from: name.from, to: name.to };
}
