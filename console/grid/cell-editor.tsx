// Edits a value in its cell: Enter saves, Escape leaves.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { isEqual, type Json } from "../api/json.ts";
import { asProblem } from "../api/problem.ts";
import { numberHint } from "../ui/number-text.ts";
import type { Column } from "./columns.ts";
import { inputKind, inputText, readInput } from "./edit.ts";
import { ValueInput } from "./value-input.tsx";

interface CellEditorProps {
  readonly column: Column;
  readonly value: Json | undefined;
  /** Null removes the field. */
  readonly onSave: (value: Json) => Promise<void>;
  /** Undefined when the focus is elsewhere already. */
  readonly onLeave: (move: -1 | 0 | 1 | undefined) => void;
}

export function CellEditor({ column: shown, value, onSave, onLeave }: CellEditorProps) {
  // With another definition meanwhile, what is typed stays in the input that it was typed into.
  const [column] = useState(shown);
  const [kind] = useState(() => inputKind(column, value));
  const [text, setText] = useState(() => inputText(kind, value));
  const [error, setError] = useState<string>();
  const isDone = useRef(false);
  const box = useRef<HTMLDivElement>(null);
  // At once: what is typed next belongs into it.
  useLayoutEffect(() => {
    const input = box.current?.querySelector<HTMLInputElement>("input, select");
    input?.focus();
    if (input?.type === "text") input.select();
  }, []);
  const leave = (move: -1 | 0 | 1 | undefined): void => {
    isDone.current = true;
    onLeave(move);
  };
  const save = async (move: -1 | 0 | 1 | undefined): Promise<void> => {
    if (isDone.current) return;
    const input = box.current?.querySelector<HTMLInputElement>("input");
    const next = input?.validity.badInput ? undefined : readInput(kind, text, value);
    if (next === undefined)
      return setError(kind === "number" ? numberHint(text) : "This is no time.");
    if (text === inputText(kind, value) || isEqual(next, value)) return leave(move);
    isDone.current = true;
    try {
      await onSave(next);
      leave(move);
    } catch (failure) {
      isDone.current = false;
      const problem = asProblem(failure);
      setError(problem.errors[0]?.detail ?? problem.detail);
      box.current?.querySelector<HTMLElement>("input, select")?.focus();
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    event.stopPropagation();
    if (event.key === "Escape") leave(0);
    else if (event.key === "Enter") void save(0);
    else if (event.key === "Tab") void save(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
  };
  const onFocusOut = (): void => {
    if (error === undefined && document.hasFocus()) void save(undefined);
  };
  return (
    <div ref={box} class="cell-editor" onKeyDown={onKeyDown} onFocusOut={onFocusOut}>
      <ValueInput
        kind={kind}
        options={column.options}
        text={text}
        onText={setText}
        isClearable={column.isRequired !== true}
        attributes={{
          "aria-label": column.label,
          "aria-invalid": error !== undefined,
          ...(error !== undefined && { "aria-describedby": "cell-error" }),
        }}
      />
      {error !== undefined && (
        <p id="cell-error" class="cell-error" role="alert">
          {error}
        </p>
      )}
    </div>
  );
}
