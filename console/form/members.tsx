// The members of an object: those of its schema, those that are there besides, and a way to add one.

import type { ComponentType } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Json, type JsonObject, memberOf } from "../api/json.ts";
import { pointerTo, withMember } from "../api/patch.ts";
import { labelOf } from "../api/schema.ts";
import type { Schema } from "../api/types.ts";
import { Button } from "../ui/button.tsx";
import type { FieldProps } from "./context.ts";

export interface MembersProps {
  readonly schema: Schema;
  readonly value: JsonObject;
  readonly pointer: string;
  readonly path: string;
  readonly lockOf: (name: string) => string | undefined;
  readonly onChange: (value: JsonObject) => void;
  readonly Field: ComponentType<FieldProps>;
}

/** The server sets these at the top of a resource. */
const reserved = new Set(["id", "createdAt", "updatedAt", "_etag", "_owner", "_expanded"]);

export function Members({ schema, value, pointer, path, lockOf, onChange, Field }: MembersProps) {
  const declared = Object.entries(schema.properties ?? {}).filter(
    ([name]) => pointer !== "" || !reserved.has(name),
  );
  const names = new Set(declared.map(([name]) => name));
  const others = Object.keys(value).filter((name) => !names.has(name));
  const rest = schema.additionalProperties;
  const otherSchema = typeof rest === "object" ? rest : {};
  const isOpen = rest !== false;
  const all = [...declared, ...others.map((name) => [name, otherSchema] as const)];
  return (
    <>
      {all.map(([name, member]) => (
        <Field
          key={name}
          name={name}
          label={labelOf(member, name)}
          schema={member}
          value={memberOf(value, name)}
          pointer={pointerTo(pointer, name)}
          path={path === "" ? name : `${path}.${name}`}
          isRequired={schema.required?.includes(name) ?? false}
          lock={lockOf(name)}
          onChange={(next) => onChange(withMember(value, name, next))}
        />
      ))}
      {isOpen && lockOf("") === undefined && (
        <AddMember
          isTaken={(name) =>
            Object.hasOwn(value, name) || names.has(name) || (pointer === "" && reserved.has(name))
          }
          onAdd={(name, first) => onChange(withMember(value, name, first))}
        />
      )}
    </>
  );
}

const beginnings: readonly (readonly [string, Json])[] = [
  ["Text", ""],
  ["Number", 0],
  ["True or false", false],
  ["List", []],
  ["Object", {}],
  ["Null", null],
];

interface AddMemberProps {
  readonly isTaken: (name: string) => boolean;
  readonly onAdd: (name: string, value: Json) => void;
}

function AddMember({ isTaken, onAdd }: AddMemberProps) {
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState("");
  const [index, setIndex] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  const isUsed = name !== "" && isTaken(name);
  const add = (): void => {
    if (name === "" || isUsed) return;
    onAdd(name, beginnings[index]?.[1] ?? "");
    setName("");
    setOpen(false);
  };
  useLayoutEffect(() => {
    if (isOpen) input.current?.focus();
  }, [isOpen]);
  if (!isOpen)
    return (
      <div>
        <Button kind="quiet" icon="plus" onClick={() => setOpen(true)}>
          Add a field
        </Button>
      </div>
    );
  return (
    <div class="add-member" role="group" aria-label="Add a field">
      <input
        ref={input}
        type="text"
        aria-label="Name of the new field"
        aria-invalid={isUsed}
        aria-describedby={isUsed ? id : undefined}
        placeholder="New field"
        autocomplete="off"
        value={name}
        onInput={({ currentTarget }) => setName(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") add();
          else if (event.key === "Escape") setOpen(false);
          else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      <select
        aria-label="Type of the new field"
        value={String(index)}
        onChange={({ currentTarget }) => setIndex(Number(currentTarget.value))}
      >
        {beginnings.map(([label], at) => (
          <option key={label} value={String(at)}>
            {label}
          </option>
        ))}
      </select>
      <Button icon="plus" isDisabled={name === "" || isUsed} onClick={add}>
        Add field
      </Button>
      {isUsed && (
        <p class="errors" id={id}>
          There is a field with this name.
        </p>
      )}
    </div>
  );
}
