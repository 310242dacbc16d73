// A file of the resource in its form: what it is, and a button that chooses another one.

import type { ComponentChildren } from "preact";
import { useContext, useRef } from "preact/hooks";
import type { Schema, StoredFile } from "../api/types.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { formatBytes } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { ChosenPicture } from "../ui/preview.tsx";
import { type FieldProps, Form, useLockText } from "./context.ts";
import { useErrors } from "./leaf.tsx";
import { isFile, typesOf } from "./schema.ts";

export function FileField({ name, label, value, schema, pointer, lock, isRequired }: FieldProps) {
  const files = useContext(Form)?.files;
  const chooser = useRef<HTMLInputElement>(null);
  const stored: readonly StoredFile[] = (Array.isArray(value) ? value : [value]).filter(isFile);
  const chosen = files?.chosen.get(name) ?? [];
  const isList = typesOf(schema).includes("array") || Array.isArray(value);
  const isSingle = stored.length + chosen.length > 0 && !isList;
  return (
    <Field
      label={label}
      help={useLockText(lock) ?? schema.description}
      errors={useErrors(pointer)}
      isRequired={isRequired ?? false}
    >
      {({ "aria-required": _, "aria-invalid": isInvalid, ...attributes }) => (
        <div class="file-field">
          {files &&
            stored.map((file) => (
              <FileLine key={file.url} {...file}>
                <files.Preview file={file} />
              </FileLine>
            ))}
          {chosen.map((file) => (
            <FileLine key={file.name} name={file.name} size={file.size}>
              <ChosenPicture file={file} />
            </FileLine>
          ))}
          {lock === undefined && (
            <span class="file-tools">
              <button
                {...attributes}
                type="button"
                class="button plain"
                aria-label={`Choose a file for ${label}`}
                data-invalid={isInvalid || undefined}
                onClick={() => chooser.current?.click()}
              >
                <Icon name="upload" />
                {isSingle ? "Choose another" : isList ? "Add files" : `Add ${label}`}
              </button>
              {chosen.length > 0 && (
                <Button kind="quiet" onClick={() => files?.choose(name, [])}>
                  Remove<span class="hidden-text"> what was chosen for {label}</span>
                </Button>
              )}
            </span>
          )}
          <input
            ref={chooser}
            type="file"
            hidden
            multiple={isList}
            accept={acceptOf(schema)}
            onChange={({ currentTarget }) => {
              files?.choose(name, [...(currentTarget.files ?? [])]);
              currentTarget.value = "";
            }}
          />
        </div>
      )}
    </Field>
  );
}

/** The types that the schema names. */
function acceptOf(schema: Schema): string | undefined {
  const types = (schema.items ?? schema).properties?.type?.enum ?? [];
  return types.length === 0 ? undefined : types.join(",");
}

interface FileLineProps {
  readonly name: string;
  readonly size: number;
  readonly children: ComponentChildren;
}

const FileLine = ({ name, size, children }: FileLineProps) => (
  <div class="file-line">
    {children}
    <span class="file-facts">
      <span dir="auto" title={name}>
        {name}
      </span>
      <span class="faint">{formatBytes(size)}</span>
    </span>
  </div>
);
