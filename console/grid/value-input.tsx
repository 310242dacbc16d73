// An input for one value of a kind.

import type { Json } from "../api/json.ts";
import type { ColumnKind } from "./columns.ts";

interface ValueInputProps {
  readonly kind: ColumnKind;
  readonly options: readonly Json[];
  readonly text: string;
  readonly onText: (text: string) => void;
  /** Attributes that connect it with its label. */
  readonly attributes?: Readonly<Record<string, unknown>>;
  /** Whether a choice may be taken back. */
  readonly isClearable?: boolean;
}

const types: Partial<Record<ColumnKind, string>> = {
  date: "date",
  time: "datetime-local",
};

const typeOf = (kind: ColumnKind): Readonly<Record<string, unknown>> => ({
  type: types[kind] ?? "text",
});

export function ValueInput({
  kind,
  options,
  text,
  onText,
  attributes = {},
  isClearable = false,
}: ValueInputProps) {
  const values = kind === "boolean" ? [true, false] : options;
  if (kind === "boolean" || (kind === "choice" && values.length > 0))
    return (
      <select {...attributes} value={text} onChange={(event) => onText(event.currentTarget.value)}>
        {(isClearable || text === "") && (
          <option value="">{isClearable ? "(no value)" : ""}</option>
        )}
        {values.map((value) => (
          <option key={JSON.stringify(value)} value={JSON.stringify(value)}>
            {String(value)}
          </option>
        ))}
      </select>
    );
  return (
    <input
      {...attributes}
      {...typeOf(kind)}
      step={kind === "time" ? 1 : undefined}
      inputMode={kind === "number" ? "decimal" : undefined}
      dir={kind === "number" || types[kind] !== undefined ? undefined : "auto"}
      autocomplete="off"
      value={text}
      onInput={(event) => onText(event.currentTarget.value)}
    />
  );
}
