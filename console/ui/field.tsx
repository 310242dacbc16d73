// A labelled input with its help and its errors.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface LabelledProps {
  readonly label: string;
  readonly help?: ComponentChildren;
  readonly errors?: readonly string[];
  readonly isRequired?: boolean;
  /** Gets the attributes that connect the input with its label, help and errors. */
  readonly children: (attributes: FieldAttributes) => ComponentChildren;
}

export interface FieldAttributes {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": boolean;
  readonly "aria-required": boolean;
}

export function Field({ label, help, errors = [], isRequired = false, children }: LabelledProps) {
  const id = useId();
  const isInvalid = errors.length > 0;
  const describedBy = [help && `${id}-help`, isInvalid && `${id}-errors`].filter(Boolean).join(" ");
  return (
    <div class="field" data-invalid={isInvalid || undefined}>
      <label htmlFor={id}>
        {label}
        {isRequired && <span class="required"> (required)</span>}
      </label>
      {children({
        id,
        "aria-describedby": describedBy || undefined,
        "aria-invalid": isInvalid,
        "aria-required": isRequired,
      })}
      {help && (
        <p class="help" id={`${id}-help`}>
          {help}
        </p>
      )}
      {isInvalid && (
        <ul class="errors" id={`${id}-errors`}>
          {errors.map((error) => (
            <li key={error}>{error}</li>
          ))}
        </ul>
      )}
    </div>
  );
}
