// A JSON editor with the hints of a schema. The editor itself is loaded when it is needed.

import { useEffect, useRef, useState } from "preact/hooks";
import type { ProblemDetail } from "../api/problem.ts";
import type { Schema } from "../api/types.ts";
import type { Editor } from "./codemirror.ts";

export interface JsonEditorProps {
  /** Read out. */
  readonly label: string;
  readonly text: string;
  readonly schema?: Schema | undefined;
  readonly isReadOnly?: boolean;
  /** What the server says against the text, shown at its place. */
  readonly errors?: readonly ProblemDetail[] | undefined;
  readonly onChange?: (text: string) => void;
}

const none: readonly ProblemDetail[] = [];

/** It lives in a shadow root, because it adds styles, which the page does not allow. */
export function JsonEditor(props: JsonEditorProps) {
  const { label, text, schema, isReadOnly = false, errors = none, onChange } = props;
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor>(undefined);
  const [isLoading, setLoading] = useState(true);
  /** What was typed and is on its way through the owner: the editor may be further already. */
  const reported = useRef(new Set<string>());
  const latest = useRef({ text, onChange });
  latest.current = { text, onChange };
  useEffect(() => {
    let isOpen = true;
    void import("./codemirror.ts").then(({ createEditor }) => {
      if (!isOpen || host.current === null) return;
      const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
      editor.current = createEditor(root, {
        ...{ label, schema, isReadOnly },
        text: latest.current.text,
        onChange: (next) => {
          reported.current.add(next);
          latest.current.onChange?.(next);
        },
      });
      setLoading(false);
    });
    return () => {
      isOpen = false;
      editor.current?.close();
    };
  }, [label, schema, isReadOnly]);
  useEffect(() => {
    if (!reported.current.has(text)) editor.current?.setText(text);
    else if (text === editor.current?.text()) reported.current.clear();
  }, [text]);
  useEffect(() => editor.current?.setErrors(errors), [errors]);
  return (
    <div class="json-editor" aria-busy={isLoading}>
      <div ref={host} class="json-editor-host" />
    </div>
  );
}
