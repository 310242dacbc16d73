// One of several values: a few as radio buttons, more as a list.

import { useId } from "preact/hooks";
import { isEqual, type Json } from "../api/json.ts";
import type { FieldAttributes } from "../ui/field.tsx";
import type { FieldProps } from "./context.ts";
import { summaryOf } from "./values.ts";

interface ChoiceProps extends FieldProps {
  readonly attributes: FieldAttributes;
  readonly isRequired: boolean;
}

const fewValues = 3;
const unset = "-";

export function ChoiceInput(props: ChoiceProps) {
  const { schema, value } = props;
  const allowed = schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
  const isKnown = value === undefined || allowed.some((one) => isEqual(one, value));
  const values = isKnown ? allowed : [...allowed, value];
  return values.length <= fewValues ? (
    <Radios {...props} values={values} />
  ) : (
    <Select {...props} values={values} />
  );
}

interface ValuesProps extends ChoiceProps {
  readonly values: readonly Json[];
}

const indexOf = (values: readonly Json[], value: Json | undefined): number =>
  values.findIndex((one) => isEqual(one, value));

function Select({ attributes, values, value, isRequired, lock, onChange }: ValuesProps) {
  return (
    <select
      {...attributes}
      disabled={lock !== undefined}
      value={value === undefined ? unset : String(indexOf(values, value))}
      onChange={({ currentTarget: { value: index } }) =>
        onChange(index === unset ? undefined : values[Number(index)])
      }
    >
      {(!isRequired || value === undefined) && <option value={unset}>Not set</option>}
      {values.map((one, index) => (
        <option key={JSON.stringify(one)} value={String(index)}>
          {summaryOf(one)}
        </option>
      ))}
    </select>
  );
}

/** The first one has the id of the label, so that a click on the label focuses it. */
function Radios({ attributes, values, value, label, lock, onChange }: ValuesProps) {
  const group = useId();
  const { id, "aria-describedby": describedBy, "aria-invalid": isInvalid } = attributes;
  return (
    <span class="radios" role="radiogroup" aria-label={label} aria-describedby={describedBy}>
      {values.map((one, index) => (
        <label key={JSON.stringify(one)} class="check">
          <input
            id={index === 0 ? id : undefined}
            type="radio"
            name={group}
            aria-invalid={isInvalid && index === 0 ? true : undefined}
            disabled={lock !== undefined}
            checked={isEqual(one, value)}
            onChange={() => onChange(one)}
          />
          {summaryOf(one)}
        </label>
      ))}
    </span>
  );
}
