// CodeMirror, set up for JSON.

import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import {
  bracketMatching,
  defaultHighlightStyle,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  syntaxHighlighting,
} from "@codemirror/language";
import { forceLinting, linter, lintGutter, lintKeymap } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, hoverTooltip, keymap, lineNumbers } from "@codemirror/view";
import type { ProblemDetail } from "../api/problem.ts";
import type { Schema } from "../api/types.ts";
import { placeOf } from "./json-places.ts";
import { completeBySchema, describeAt } from "./schema-hints.ts";

export interface EditorOptions {
  readonly label: string;
  readonly text: string;
  readonly schema: Schema | undefined;
  readonly isReadOnly: boolean;
  readonly onChange: (text: string) => void;
}

export interface Editor {
  text(): string;
  /** Does nothing when the editor has this text already. */
  setText(text: string): void;
  /** Marks the places that the pointers of errors name. */
  setErrors(errors: readonly ProblemDetail[]): void;
  close(): void;
}

export function createEditor(root: ShadowRoot, options: EditorOptions): Editor {
  const { label, text, schema, isReadOnly, onChange } = options;
  let isSetting = false;
  let errors: readonly ProblemDetail[] = [];
  const parseErrors = jsonParseLinter();
  const view = new EditorView({
    ...{ root, parent: root, doc: text },
    extensions: [
      ...editing,
      lintGutter(),
      linter((shown) => [
        ...parseErrors(shown),
        ...errors.map(({ pointer = "", detail }) => ({
          ...placeOf(shown.state, pointer),
          ...{ severity: "error" as const, message: detail },
        })),
      ]),
      ...(schema === undefined ? [] : schemaHints(schema)),
      EditorState.readOnly.of(isReadOnly),
      EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
      EditorView.updateListener.of(({ docChanged, state }) => {
        if (docChanged && !isSetting) onChange(state.doc.toString());
      }),
    ],
  });
  const current = (): string => view.state.doc.toString();
  return {
    text: current,
    setText(next) {
      if (current() === next) return;
      isSetting = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
      isSetting = false;
    },
    setErrors(next) {
      if (next.length === 0 && errors.length === 0) return;
      errors = next;
      forceLinting(view);
    },
    close: () => view.destroy(),
  };
}

const schemaHints = (schema: Schema): readonly Extension[] => [
  autocompletion({ override: [(context) => completeBySchema(context, schema)] }),
  hoverTooltip((view, position) => {
    const found = describeAt(view.state, position, schema);
    if (found === undefined) return null;
    const dom = document.createElement("div");
    dom.className = "cm-description";
    dom.textContent = found.text;
    return { pos: found.from, end: found.to, create: () => ({ dom }) };
  }),
];

/** The colours of the usual style, as ours: those that JSON uses. */
const colours: Readonly<Record<string, string>> = {
  "#708": "var(--danger)",
  "#219": "var(--danger)",
  "#164": "var(--warning)",
  "#a11": "var(--accent)",
  "#e40": "var(--warning)",
  "#f00": "var(--danger)",
};

const highlight = HighlightStyle.define(
  defaultHighlightStyle.specs.map((spec) => ({
    ...spec,
    ...(spec.color && { color: colours[spec.color] ?? "inherit" }),
  })),
);

const theme = EditorView.theme({
  "&": { height: "100%", backgroundColor: "var(--surface)", color: "var(--text)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--code-font)", fontSize: "13px", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderInlineStartColor: "var(--text)" },
  ".cm-gutters": {
    backgroundColor: "var(--surface)",
    color: "var(--faint)",
    borderInlineEnd: "1px solid var(--line)",
  },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, ::selection": {
    backgroundColor: "var(--accent-surface)",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    borderRadius: "var(--radius)",
    fontFamily: "var(--text-font)",
    maxWidth: "48ch",
  },
  ".cm-description": { padding: "4px 8px", whiteSpace: "pre-wrap" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--accent-surface)",
    color: "var(--text)",
  },
  ".cm-foldPlaceholder": {
    backgroundColor: "var(--hover)",
    borderColor: "var(--line)",
    color: "var(--faint)",
  },
});

/** Tab moves the focus on, as in every field. */
const editing: readonly Extension[] = [
  lineNumbers(),
  foldGutter(),
  history(),
  bracketMatching(),
  closeBrackets(),
  json(),
  syntaxHighlighting(highlight),
  EditorView.lineWrapping,
  EditorState.tabSize.of(2),
  keymap.of([
    ...closeBracketsKeymap,
    ...completionKeymap,
    ...lintKeymap,
    ...foldKeymap,
    ...historyKeymap,
    ...defaultKeymap,
  ]),
  theme,
];
