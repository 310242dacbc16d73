// The fields of a definition as a table: type, required, unique, indexed, searchable, and what they refer to.

import { useState } from "preact/hooks";
import type { Definition } from "../api/types.ts";
import { collectionNames } from "../state/collections.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { ScrollBox } from "../ui/scroll-box.tsx";
import {
  addField,
  changeField,
  type DefinedField,
  type FieldType,
  fieldsOf,
  fieldTypes,
  removeField,
} from "./model.ts";

interface FieldsTableProps {
  readonly definition: Definition;
  readonly onChange: (definition: Definition) => void;
}

type TypeName = keyof typeof fieldTypes;
const typeNames = Object.keys(fieldTypes) as readonly TypeName[];

export function FieldsTable({ definition, onChange }: FieldsTableProps) {
  const fields = fieldsOf(definition);
  return (
    <ScrollBox label="Fields">
      <table class="table fields-table">
        <thead>
          <tr>
            {["Field", "Type", "Required", "Unique", "Indexed", "Searchable", "Refers to", ""].map(
              (title) => (
                <th key={title} scope="col">
                  {title || <span class="hidden-text">Remove</span>}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {fields.map((field) => (
            <FieldRow
              key={field.name}
              field={field}
              onChange={(change) => onChange(changeField(definition, field.name, change))}
              onRemove={() => onChange(removeField(definition, field.name))}
            />
          ))}
          <NewField
            taken={fields.map(({ name }) => name)}
            onAdd={(name, type) => onChange(addField(definition, name, type))}
          />
        </tbody>
      </table>
    </ScrollBox>
  );
}

interface FieldRowProps {
  readonly field: DefinedField;
  readonly onChange: (change: Partial<DefinedField>) => void;
  readonly onRemove: () => void;
}

const switches = [
  ["isRequired", "required"],
  ["isUnique", "unique"],
  ["isIndexed", "indexed"],
  ["isSearchable", "searchable"],
] as const;

function FieldRow({ field, onChange, onRemove }: FieldRowProps) {
  const { name, type, refersTo } = field;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>
        <select
          aria-label={`Type of ${name}`}
          value={type}
          onChange={(event) => onChange({ type: event.currentTarget.value as FieldType })}
        >
          {typeNames.map((one) => (
            <option key={one}>{one}</option>
          ))}
          {type === "other" && <option value="other">as in the JSON</option>}
        </select>
      </td>
      {switches.map(([key, word]) => (
        <td key={key}>
          <input
            type="checkbox"
            aria-label={`${name} is ${word}`}
            checked={field[key]}
            onChange={(event) => onChange({ [key]: event.currentTarget.checked })}
          />
        </td>
      ))}
      <td>
        <select
          aria-label={`${name} refers to`}
          value={refersTo ?? ""}
          onChange={(event) => onChange({ refersTo: event.currentTarget.value || undefined })}
        >
          <option value="">nothing</option>
          {[...new Set([...collectionNames.value, ...(refersTo ? [refersTo] : [])])].map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </td>
      <td>
        <IconButton icon="trash" label={`Remove ${name}`} onClick={onRemove} />
      </td>
    </tr>
  );
}

interface NewFieldProps {
  readonly taken: readonly string[];
  readonly onAdd: (name: string, type: TypeName) => void;
}

function NewField({ taken, onAdd }: NewFieldProps) {
  const [name, setName] = useState("");
  const [type, setType] = useState<TypeName>("text");
  const trimmed = name.trim();
  const add = (): void => {
    if (trimmed === "" || taken.includes(trimmed)) return;
    onAdd(trimmed, type);
    setName("");
  };
  return (
    <tr>
      <td>
        <input
          type="text"
          aria-label="Name of a new field"
          placeholder="New field"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            add();
          }}
        />
      </td>
      <td>
        <select
          aria-label="Type of the new field"
          value={type}
          onChange={(event) => setType(event.currentTarget.value as TypeName)}
        >
          {typeNames.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </td>
      <td colSpan={6}>
        <Button icon="plus" isDisabled={trimmed === "" || taken.includes(trimmed)} onClick={add}>
          Add
        </Button>
      </td>
    </tr>
  );
}
