// Asks for a filter: a field, what must hold, and a value of the field's type.

import { useState } from "preact/hooks";
import { type Operator, operandOf } from "../../src/model/query/operators.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { numberHint } from "../ui/number-text.ts";
import type { ColumnKind } from "./columns.ts";
import { localInput, numberIn, timeIn } from "./edit.ts";
import { type FilterField, operatorLabel, operatorsFor } from "./operators.ts";
import { ValueInput } from "./value-input.tsx";
import { type Filter, makeFilter } from "./view.ts";

interface FilterEditorProps {
  readonly fields: readonly FilterField[];
  readonly filter?: Filter;
  readonly errors?: readonly string[];
  readonly onApply: (filter: Filter) => void;
}

const otherPath = "-";

export function FilterEditor({ fields, filter, errors = [], onApply }: FilterEditorProps) {
  const first = filter?.field ?? fields[0]?.path ?? "";
  const [path, setPath] = useState(first);
  const [operator, setOperator] = useState<Operator>(
    filter?.operator ?? firstOperator(fields, first),
  );
  const [value, setValue] = useState(filter?.value ?? "");
  const [hint, setHint] = useState<string>();
  const known = fields.find((field) => field.path === path);
  const kind = known?.kind ?? "any";
  const operators = operatorsFor(kind);
  const choose = (next: string): void => {
    const same = fields.find((field) => field.path === next)?.kind === kind;
    setPath(next === otherPath ? "" : next);
    setOperator(firstOperator(fields, next));
    if (!same) setValue("");
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (path === "") return;
    const isWrong = isNumber(value, operator, kind) && numberIn(value) === undefined;
    const isDeclared = known !== undefined;
    if (isWrong) setHint(numberHint(value));
    else onApply(makeFilter(path, operator, finalValue(value, operator, kind), isDeclared));
  };
  return (
    <form class="filter-editor" onSubmit={submit}>
      <Field label="Field">
        {(attributes) => (
          <select
            {...attributes}
            value={known ? path : otherPath}
            onChange={(event) => choose(event.currentTarget.value)}
          >
            {fields.map((field) => (
              <option key={field.path} value={field.path}>
                {field.label}
              </option>
            ))}
            <option value={otherPath}>Another field…</option>
          </select>
        )}
      </Field>
      {!known && (
        <Field label="Path" help="Such as address.city, or lines[].product">
          {(attributes) => (
            <input
              {...attributes}
              type="text"
              autocomplete="off"
              value={path}
              onInput={(event) => setPath(event.currentTarget.value)}
            />
          )}
        </Field>
      )}
      <Field label="Condition">
        {(attributes) => (
          <select
            {...attributes}
            value={operator}
            onChange={(event) => setOperator(event.currentTarget.value as Operator)}
          >
            {(operators.includes(operator) ? operators : [...operators, operator]).map((name) => (
              <option key={name} value={name}>
                {operatorLabel(name, kind)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <FilterValue
        {...{ kind, operator, value, errors: hint === undefined ? errors : [hint] }}
        options={known?.options ?? []}
        onValue={(next) => {
          setValue(next);
          setHint(undefined);
        }}
      />
      <Button type="submit" kind="primary">
        Apply
      </Button>
    </form>
  );
}

/** Texts are mostly looked for by a part of them. */
const firstOperator = (fields: readonly FilterField[], path: string): Operator =>
  fields.find((field) => field.path === path)?.kind === "text" && path !== "id"
    ? "icontains"
    : "eq";

/** A condition on texts takes a text, whatever the kind of the field, and so does a list. */
const valueKind = (kind: ColumnKind, operator: Operator): ColumnKind =>
  (({ value: kind, list: "text", boolean: "boolean", text: "text" }) as const)[operandOf[operator]];

const isNumber = (value: string, operator: Operator, kind: ColumnKind): boolean =>
  valueKind(kind, operator) === "number" && value !== "";

function finalValue(value: string, operator: Operator, kind: ColumnKind): string {
  if (operator === "exists") return value === "false" ? "false" : "true";
  if (isNumber(value, operator, kind)) return String(numberIn(value));
  const isTime = valueKind(kind, operator) === "time" && !value.endsWith("Z") && value !== "";
  return isTime ? (timeIn(value) ?? value) : value;
}

interface FilterValueProps {
  readonly kind: ColumnKind;
  readonly operator: Operator;
  readonly value: string;
  readonly errors: readonly string[];
  readonly options: FilterField["options"];
  readonly onValue: (value: string) => void;
}

function FilterValue({ kind, operator, value, errors, options, onValue }: FilterValueProps) {
  const shape = valueKind(kind, operator);
  const isQuoted = shape === "choice";
  const text = shape === "time" && value !== "" ? timeText(value) : value;
  return (
    <Field
      label="Value"
      errors={errors}
      help={operator === "in" ? "Values with commas between them" : undefined}
    >
      {(attributes) => (
        <ValueInput
          attributes={{ ...attributes }}
          kind={shape}
          options={options}
          text={
            isQuoted ? quoteOption(options, text) : operator === "exists" ? text || "true" : text
          }
          onText={(next) => onValue(isQuoted ? unquote(next) : next)}
        />
      )}
    </Field>
  );
}

const timeText = (value: string): string =>
  value.endsWith("Z") && !Number.isNaN(Date.parse(value)) ? localInput(value) : value;

const quoteOption = (options: FilterField["options"], text: string): string => {
  const option = options.find((one) => String(one) === text);
  return option === undefined ? "" : JSON.stringify(option);
};

const unquote = (text: string): string => (text === "" ? "" : String(JSON.parse(text)));
