// A field with one input: its label, help, errors, and a menu that tells missing, null and empty apart.

import { useContext, useRef } from "preact/hooks";
import type { Json } from "../api/json.ts";
import type { Schema } from "../api/types.ts";
import { Field } from "../ui/field.tsx";
import { Menu } from "../ui/menu.tsx";
import { numberHint } from "../ui/number-text.ts";
import { type FieldProps, Form, useLockText } from "./context.ts";
import { type InputProps, inputFor } from "./inputs.tsx";
import { allowsNull, type InputKind, limitsOf, plainError } from "./schema.ts";
import { summaryOf } from "./values.ts";

interface LeafProps extends FieldProps {
  readonly kind: InputKind;
}

export function Leaf({ kind, ...props }: LeafProps) {
  const { schema, value, pointer, label, lock, isRequired = false } = props;
  const isNumber = kind === "number" || kind === "integer";
  const errors = useErrors(pointer).map((detail) =>
    isNumber && typeof value === "string" ? numberHint(value) : plainError(detail, schema),
  );
  // A short text that grows long keeps its input, and the focus.
  const first = useRef(kind);
  const isText = kind === "text" || kind === "long-text";
  const shownKind = isText && first.current === "text" ? "text" : kind;
  if (!isText) first.current = kind;
  const Input = inputFor(shownKind, schema);
  return (
    <Field
      label={label}
      errors={errors}
      isRequired={isRequired}
      help={helpOf(schema, useLockText(lock), errors)}
    >
      {(attributes) => (
        <div class="field-row" onKeyDown={openMenu}>
          <Input {...({ ...props, attributes, isRequired } satisfies InputProps)} />
          <StateTag value={value} />
          {lock === undefined && <ValueMenu {...props} isText={isText} shortcut="Control+." />}
        </div>
      )}
    </Field>
  );
}

/** The errors of the server, and a text that is not JSON. */
export function useErrors(pointer: string): readonly string[] {
  const form = useContext(Form);
  const text = form?.textErrors.value.get(pointer);
  const found = form?.problem?.at(pointer) ?? [];
  const details = found.map((error) =>
    error.pointer === pointer
      ? error.detail
      : `${error.pointer?.slice(pointer.length)} ${error.detail}`,
  );
  return [...new Set([...(text === undefined ? [] : [text]), ...details])];
}

/** What an error says is not said twice. */
export function helpOf(
  schema: Schema,
  lock: string | undefined,
  errors: readonly string[] = [],
): string | undefined {
  const isTold = errors.some((error) => /^(must (match|look like)|does not fit)/.test(error));
  const { pattern: _, ...rest } = schema;
  const parts = [schema.description, limitsOf(isTold ? rest : schema), lock].filter(Boolean);
  return parts.length === 0 ? undefined : parts.join(" · ");
}

/** The menu of a field is no stop between fields; Ctrl+. in the field opens it. */
function openMenu(event: KeyboardEvent): void {
  if (event.key !== "." || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  (event.currentTarget as HTMLElement).querySelector<HTMLElement>("[aria-haspopup=menu]")?.click();
}

/** Null and an empty text look the same as nothing, so they are named. */
function StateTag({ value }: { value: Json | undefined }) {
  if (value === null) return <span class="tag">null</span>;
  return value === "" ? <span class="tag">empty text</span> : null;
}

interface ValueMenuProps extends FieldProps {
  readonly isText?: boolean;
  /** The keys that open it, where Tab passes it by. */
  readonly shortcut?: string;
}

export function ValueMenu(props: ValueMenuProps) {
  const { label, schema, value, isText = false, shortcut, onChange } = props;
  const items = [
    {
      label: value === undefined ? "Is not set" : "Remove the value",
      icon: "x" as const,
      isDisabled: value === undefined,
      run: () => onChange(undefined),
    },
    ...(allowsNull(schema)
      ? [{ label: "Set to null", isDisabled: value === null, run: () => onChange(null) }]
      : []),
    ...(isText
      ? [{ label: "Set to empty text", isDisabled: value === "", run: () => onChange("") }]
      : []),
    ...(schema.default === undefined
      ? []
      : [
          {
            label: `Set to the default: ${summaryOf(schema.default, 20)}`,
            run: () => onChange(schema.default),
          },
        ]),
  ];
  return <Menu label={`Value of ${label}`} icon="ellipsis" isIconOnly {...{ shortcut, items }} />;
}
