// The fields of a definition as a table: type, required, unique, indexed, searchable, and what they refer to.

import { Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
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
  type TypeName,
} from "./model.ts";

interface FieldsTableProps {
  readonly definition: Definition;
  readonly onChange: (definition: Definition) => void;
}

const typeNames = Object.keys(fieldTypes) as readonly TypeName[];
const titles = ["Field", "Type", "Required", "Unique", "Indexed", "Searchable", "Refers to", ""];

export function FieldsTable({ definition, onChange }: FieldsTableProps) {
  const [open, setOpen] = useState<string>();
  const fields = fieldsOf(definition);
  const isOpen = ({ path, hasMembers }: DefinedField): boolean => path === open && hasMembers;
  return (
    <ScrollBox label="Fields">
      <table class="table fields-table">
        <thead>
          <tr>
            {titles.map((title) => (
              <th key={title} scope="col">
                {title || <span class="hidden-text">Actions</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {fields.map((field) => (
            <Fragment key={field.path}>
              <FieldRow
                field={field}
                onChange={(change) => onChange(changeField(definition, field.path, change))}
                onRemove={() => onChange(removeField(definition, field.path))}
                onOpen={() => setOpen(field.path)}
              />
              {isOpen(field) && (
                <NewField
                  parent={field}
                  taken={namesIn(fields, field.inside)}
                  onAdd={(name, type) => onChange(addField(definition, name, type, field.inside))}
                  onClose={() => setOpen(undefined)}
                />
              )}
            </Fragment>
          ))}
          <NewField
            taken={namesIn(fields, [])}
            onAdd={(name, type) => onChange(addField(definition, name, type))}
          />
        </tbody>
      </table>
    </ScrollBox>
  );
}

/** The names of the fields in one object. */
const namesIn = (fields: readonly DefinedField[], parents: readonly string[]): readonly string[] =>
  fields.filter((field) => field.parents.join("\0") === parents.join("\0")).map(({ name }) => name);

const depthOf = (parents: readonly string[]): number =>
  parents.filter((step) => step !== "[]").length;

interface FieldRowProps {
  readonly field: DefinedField;
  readonly onChange: (change: Partial<DefinedField>) => void;
  readonly onRemove: () => void;
  readonly onOpen: () => void;
}

const switches = [
  ["isRequired", "required"],
  ["isUnique", "unique"],
  ["isIndexed", "indexed"],
  ["isSearchable", "searchable"],
] as const;

function FieldRow({ field, onChange, onRemove, onOpen }: FieldRowProps) {
  const { path, name, type, hasMembers } = field;
  return (
    <tr>
      <th scope="row">
        <span class="nested" style={{ "--depth": String(depthOf(field.parents)) }} title={path}>
          {name}
        </span>
      </th>
      <td>
        <select
          aria-label={`Type of ${path}`}
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
          {(!hasMembers || key === "isRequired" || field[key]) && (
            <input
              type="checkbox"
              aria-label={`${path} is ${word}`}
              checked={field[key]}
              onChange={(event) => onChange({ [key]: event.currentTarget.checked })}
            />
          )}
        </td>
      ))}
      <td>{!hasMembers && <ReferenceChoice field={field} onChange={onChange} />}</td>
      <td class="row-tools">
        {hasMembers && (
          <IconButton icon="plus" label={`Add a member to ${path}`} onClick={onOpen} />
        )}
        <IconButton icon="trash" label={`Remove ${path}`} onClick={onRemove} />
      </td>
    </tr>
  );
}

function ReferenceChoice({ field, onChange }: Pick<FieldRowProps, "field" | "onChange">) {
  const { path, refersTo } = field;
  const names = new Set([...collectionNames.value, ...(refersTo ? [refersTo] : [])]);
  return (
    <select
      aria-label={`${path} refers to`}
      value={refersTo ?? ""}
      onChange={(event) => onChange({ refersTo: event.currentTarget.value || undefined })}
    >
      <option value="">nothing</option>
      {[...names].map((one) => (
        <option key={one}>{one}</option>
      ))}
    </select>
  );
}

interface NewFieldProps {
  /** The field that gets a member; undefined at the top. */
  readonly parent?: DefinedField;
  readonly taken: readonly string[];
  readonly onAdd: (name: string, type: TypeName) => void;
  readonly onClose?: () => void;
}

function NewField({ parent, taken, onAdd, onClose }: NewFieldProps) {
  const [name, setName] = useState("");
  const [type, setType] = useState<TypeName>("text");
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (parent !== undefined) input.current?.focus();
  }, []);
  const trimmed = name.trim();
  const isTaken = taken.includes(trimmed);
  const of = parent === undefined ? "a new field" : `a new member of ${parent.path}`;
  const add = (): void => {
    if (trimmed === "" || isTaken) return;
    onAdd(trimmed, type);
    setName("");
    setType("text");
  };
  const addNext = (): void => {
    add();
    input.current?.focus();
  };
  // What was typed and not added would be lost when the definition is saved.
  const onFocusOut = ({ currentTarget, relatedTarget }: FocusEvent): void => {
    const isInside =
      relatedTarget instanceof Node && (currentTarget as Node).contains(relatedTarget);
    if (!isInside) add();
  };
  return (
    <tr
      onKeyDown={(event) => event.key === "Escape" && onClose?.()}
      onFocusOut={(event) => onFocusOut(event)}
    >
      <td>
        <input
          type="text"
          class="nested"
          style={{ "--depth": String(parent === undefined ? 0 : depthOf(parent.inside)) }}
          ref={input}
          aria-label={`Name of ${of}`}
          aria-invalid={isTaken}
          title={isTaken ? "There is a field with this name." : undefined}
          placeholder={parent === undefined ? "New field" : "New member"}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            addNext();
          }}
        />
      </td>
      <td>
        <select
          aria-label={`Type of ${of}`}
          value={type}
          onChange={(event) => setType(event.currentTarget.value as TypeName)}
        >
          {typeNames.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </td>
      <td colSpan={6}>
        <Button icon="plus" isDisabled={trimmed === "" || isTaken} onClick={addNext}>
          Add
        </Button>
        {onClose && (
          <Button kind="quiet" onClick={onClose}>
            Done
          </Button>
        )}
      </td>
    </tr>
  );
}
