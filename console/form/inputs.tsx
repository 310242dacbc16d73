// The inputs of single values.

import type { JSX } from "preact";
import { useContext, useRef, useState } from "preact/hooks";
import { isEqual } from "../api/json.ts";
import type { Schema } from "../api/types.ts";
import type { FieldAttributes } from "../ui/field.tsx";
import { parseNumber } from "../ui/number-text.ts";
import { ChoiceInput } from "./choice.tsx";
import { type FieldProps, Form, type FormContext } from "./context.ts";
import type { InputKind } from "./schema.ts";
import { fromLocalInput, isDate, parseJson, summaryOf, toLocalInput } from "./values.ts";

export interface InputProps extends FieldProps {
  readonly attributes: FieldAttributes;
  readonly isRequired: boolean;
}

type Input = (props: InputProps) => JSX.Element;

export function inputFor(kind: InputKind, schema: Schema): Input {
  return schema.writeOnly && kind !== "json" ? SecretInput : (inputs[kind] ?? TextInput);
}

const placeholderOf = ({ examples, default: usual }: Schema): string => {
  if (examples?.[0] !== undefined) return `For example ${summaryOf(examples[0])}`;
  return usual === undefined ? "Not set" : `Default: ${summaryOf(usual)}`;
};

const textOf = (value: unknown): string =>
  value === undefined || value === null ? "" : String(value);

/** What is emptied becomes again what it was, or an empty text. */
function useEmptied({ value }: InputProps) {
  const first = useRef(value);
  return first.current === undefined || first.current === null ? first.current : "";
}

function TextInput(props: InputProps) {
  const { attributes, value, schema, lock, onChange } = props;
  const emptied = useEmptied(props);
  const mode = schema.format === "email" ? "email" : schema.format === "uri" ? "url" : "text";
  return (
    <input
      {...attributes}
      type="text"
      inputMode={mode}
      dir="auto"
      autocomplete="off"
      placeholder={value === undefined ? placeholderOf(schema) : undefined}
      readOnly={lock !== undefined}
      value={textOf(value)}
      onInput={({ currentTarget: { value: text } }) => onChange(text === "" ? emptied : text)}
    />
  );
}

function LongTextInput(props: InputProps) {
  const { attributes, value, schema, lock, onChange } = props;
  const emptied = useEmptied(props);
  return (
    <textarea
      {...attributes}
      dir="auto"
      rows={3}
      placeholder={value === undefined ? placeholderOf(schema) : undefined}
      readOnly={lock !== undefined}
      value={textOf(value)}
      onInput={({ currentTarget: { value: text } }) => onChange(text === "" ? emptied : text)}
    />
  );
}

/** What is stored is never shown; without a new value it stays. */
function SecretInput({ attributes, value, lock, onChange }: InputProps) {
  return (
    <input
      {...attributes}
      type="password"
      autocomplete="new-password"
      placeholder="Never shown. Type to set a new value"
      readOnly={lock !== undefined}
      value={textOf(value)}
      onInput={({ currentTarget: { value: text } }) => onChange(text === "" ? undefined : text)}
    />
  );
}

/** The text stays as it was typed while it means the value: `1.0` can become `1.05`. */
function NumberInput({ attributes, value, schema, lock, onChange }: InputProps) {
  const [typed, setTyped] = useState("");
  const text = parseNumber(typed) === value ? typed : textOf(value);
  return (
    <input
      {...attributes}
      type="text"
      inputMode="decimal"
      autocomplete="off"
      class="number"
      placeholder={placeholderOf(schema)}
      readOnly={lock !== undefined}
      value={text}
      onInput={({ currentTarget: { value: next } }) => {
        setTyped(next);
        onChange(parseNumber(next));
      }}
    />
  );
}

function BooleanInput({ attributes, value, lock, onChange }: InputProps) {
  const { "aria-required": _, ...rest } = attributes;
  return (
    <span class="check">
      <input
        {...rest}
        type="checkbox"
        indeterminate={typeof value !== "boolean"}
        disabled={lock !== undefined}
        checked={value === true}
        onChange={({ currentTarget: { checked } }) => onChange(checked)}
      />
      <span class="faint">{value === undefined ? "not set" : String(value)}</span>
    </span>
  );
}

function DateInput(props: InputProps) {
  const { attributes, value, lock, onChange } = props;
  if (typeof value === "string" && !isDate(value)) return <TextInput {...props} />;
  return (
    <input
      {...attributes}
      type="date"
      readOnly={lock !== undefined}
      value={textOf(value)}
      onInput={({ currentTarget: { value: text } }) => onChange(text === "" ? undefined : text)}
    />
  );
}

/** Shows the local time, and stores UTC. */
function DateTimeInput(props: InputProps) {
  const { attributes, value, lock, onChange } = props;
  const local = typeof value === "string" ? toLocalInput(value) : "";
  if (local === undefined) return <TextInput {...props} />;
  return (
    <>
      <input
        {...attributes}
        type="datetime-local"
        step={local.includes(".") ? "0.001" : "1"}
        readOnly={lock !== undefined}
        value={local}
        onInput={({ currentTarget: { value: text } }) => onChange(fromLocalInput(text))}
      />
      {typeof value === "string" && <span class="tag">{value}</span>}
    </>
  );
}

/** Anything else, as JSON. The text stays while it is not JSON yet, and cannot be saved. */
function JsonInput({ attributes, value, pointer, lock, onChange }: InputProps) {
  const form = useContext(Form);
  const [typed, setTyped] = useState("");
  const parsed = parseJson(typed);
  const isCurrent = "error" in parsed ? typed.trim() !== "" : isEqual(parsed.value, value);
  const change = (text: string): void => {
    const next = parseJson(text);
    const isWrong = "error" in next && text.trim() !== "";
    setTyped(text);
    if (form !== undefined)
      setTextError(form.textErrors, pointer, isWrong ? next.error : undefined);
    if (!isWrong) onChange("error" in next ? undefined : next.value);
  };
  return (
    <textarea
      {...attributes}
      class="code"
      rows={3}
      spellcheck={false}
      placeholder="JSON, such as 1, &quot;text&quot; or [1, 2]"
      readOnly={lock !== undefined}
      value={isCurrent ? typed : value === undefined ? "" : JSON.stringify(value, null, 2)}
      onInput={({ currentTarget: { value: text } }) => change(text)}
    />
  );
}

function setTextError(
  errors: FormContext["textErrors"],
  pointer: string,
  error: string | undefined,
): void {
  const others = [...errors.peek()].filter(([other]) => other !== pointer);
  errors.value = new Map(
    error === undefined ? others : [...others, [pointer, `Not JSON: ${error}`]],
  );
}

const inputs: Partial<Readonly<Record<InputKind, Input>>> = {
  "long-text": LongTextInput,
  date: DateInput,
  "date-time": DateTimeInput,
  number: NumberInput,
  integer: NumberInput,
  boolean: BooleanInput,
  choice: ChoiceInput,
  json: JsonInput,
};
