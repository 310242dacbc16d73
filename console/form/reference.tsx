// A field that refers to another resource: its title as a link, and a dialog that finds another one.

import { useState } from "preact/hooks";
import type { Reference } from "../api/types.ts";
import { linkTo, resourcePath } from "../state/router.ts";
import { useTitle } from "../state/titles.ts";
import { Field } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { type FieldProps, useLockText } from "./context.ts";
import { helpOf, useErrors, ValueMenu } from "./leaf.tsx";
import { Picker } from "./picker.tsx";

interface ReferenceFieldProps extends FieldProps {
  readonly reference: Reference;
}

export function ReferenceField({ reference, ...props }: ReferenceFieldProps) {
  const { label, value, schema, pointer, lock, isRequired = false, onChange } = props;
  const [isPicking, setPicking] = useState(false);
  const { collection } = reference;
  return (
    <Field
      label={label}
      help={helpOf(schema, useLockText(lock))}
      errors={useErrors(pointer)}
      isRequired={isRequired}
    >
      {({ "aria-required": _, "aria-invalid": isInvalid, ...attributes }) => (
        <div class="field-row">
          {typeof value === "string" ? (
            <ReferenceLink collection={collection} id={value} />
          ) : (
            <span class="faint">{value === null ? "null" : "Not set"}</span>
          )}
          {lock === undefined && (
            <button
              {...attributes}
              type="button"
              class="button plain"
              aria-label={`Choose ${label}`}
              data-invalid={isInvalid || undefined}
              onClick={() => setPicking(true)}
            >
              <Icon name="search" />
              Choose
            </button>
          )}
          {lock === undefined && <ValueMenu {...props} />}
          {isPicking && (
            <Picker
              collection={collection}
              title={`Choose ${label}`}
              onClose={() => setPicking(false)}
              onChoose={(id) => {
                setPicking(false);
                onChange(id);
              }}
            />
          )}
        </div>
      )}
    </Field>
  );
}

/** The id, until the title is known. */
export function ReferenceLink({ collection, id }: { collection: string; id: string }) {
  const title = useTitle(collection, id);
  return (
    <a class="reference" href={linkTo(resourcePath(collection, id))} title={`${collection}/${id}`}>
      <Icon name="link" />
      <span dir="auto">{title ?? id}</span>
      {title === null && <span class="tag">cannot be read</span>}
    </a>
  );
}
