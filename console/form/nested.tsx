// Objects as groups of fields, and lists whose elements can be added, removed and moved.

import type { ComponentChildren, ComponentType } from "preact";
import { useContext, useId } from "preact/hooks";
import { isObject, type Json } from "../api/json.ts";
import { pointerTo } from "../api/patch.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { type FieldProps, Form, useLockText } from "./context.ts";
import { helpOf, ValueMenu } from "./leaf.tsx";
import { Members } from "./members.tsx";
import { emptyValue } from "./schema.ts";

interface NestedProps extends FieldProps {
  readonly Field: ComponentType<FieldProps>;
}

/** Errors of what is inside are shown there. */
function useOwnErrors(pointer: string): readonly string[] {
  const errors = useContext(Form)?.problem?.errors ?? [];
  return errors.filter((error) => error.pointer === pointer).map(({ detail }) => detail);
}

interface GroupProps extends FieldProps {
  readonly children: ComponentChildren;
}

function Group({ children, ...props }: GroupProps) {
  const { label, isRequired, schema, lock, pointer } = props;
  const errors = useOwnErrors(pointer);
  const help = helpOf(schema, useLockText(lock));
  const id = useId();
  const isInvalid = errors.length > 0;
  return (
    <fieldset class="group" aria-describedby={isInvalid ? id : undefined}>
      <legend>
        {label}
        {isRequired && <span class="required"> (required)</span>}
      </legend>
      <div class="group-menu">{lock === undefined && <ValueMenu {...props} />}</div>
      {help && <p class="help">{help}</p>}
      {isInvalid && (
        <p class="errors" id={id} tabIndex={-1} data-invalid>
          {errors.join(" ")}
        </p>
      )}
      {children}
    </fieldset>
  );
}

export function ObjectField({ Field, ...props }: NestedProps) {
  const { schema, value, pointer, path, lock, label, onChange } = props;
  if (!isObject(value))
    return (
      <Group {...props}>
        <NotThere {...props} what={`Add ${label}`} first={{}} />
      </Group>
    );
  const lockOf = (): string | undefined => lock;
  return (
    <Group {...props}>
      <Members {...{ schema, value, pointer, path, lockOf, onChange, Field }} />
    </Group>
  );
}

function NotThere(props: FieldProps & { readonly what: string; readonly first: Json }) {
  const { value, lock, what, first, onChange } = props;
  return (
    <div class="field-row">
      <span class="faint">{value === null ? "null" : "Not set"}</span>
      {lock === undefined && (
        <Button icon="plus" onClick={() => onChange(first)}>
          {what}
        </Button>
      )}
    </div>
  );
}

export function ArrayField({ Field, ...props }: NestedProps) {
  const { schema, value, label, lock, onChange } = props;
  const items = Array.isArray(value) ? (value as readonly Json[]) : undefined;
  const add = (): void =>
    onChange([...(items ?? []), emptyValue(schema.items ?? { type: "string" })]);
  return (
    <Group {...props}>
      {items === undefined || items.length === 0 ? (
        <span class="faint">{items ? "Empty list" : value === null ? "null" : "Not set"}</span>
      ) : (
        <ol class="elements" aria-label={label}>
          {items.map((_, index) => (
            // Elements have no name of their own.
            <Element key={index} {...props} Field={Field} items={items} index={index} />
          ))}
        </ol>
      )}
      {lock === undefined && (
        <div>
          <Button icon="plus" onClick={add}>
            Add to {label}
          </Button>
        </div>
      )}
    </Group>
  );
}

interface ElementProps extends NestedProps {
  readonly items: readonly Json[];
  readonly index: number;
}

function Element({ Field, items, index, ...props }: ElementProps) {
  const { schema, label, lock, onChange } = props;
  const name = `${label} ${index + 1}`;
  const put = (next: Json | undefined): void =>
    onChange(next === undefined ? items.toSpliced(index, 1) : items.with(index, next));
  const move = (to: number): void =>
    onChange(items.toSpliced(index, 1).toSpliced(to, 0, items[index] ?? null));
  return (
    <li>
      <Field
        name={String(index)}
        label={schema.items?.title ? `${schema.items.title} ${index + 1}` : name}
        schema={schema.items ?? {}}
        value={items[index]}
        pointer={pointerTo(props.pointer, index)}
        path={`${props.path}[]`}
        lock={lock}
        onChange={put}
      />
      {lock === undefined && (
        <span class="element-tools">
          <IconButton
            icon="arrow-up"
            label={`Move ${name} up`}
            isDisabled={index === 0}
            onClick={() => move(index - 1)}
          />
          <IconButton
            icon="arrow-down"
            label={`Move ${name} down`}
            isDisabled={index === items.length - 1}
            onClick={() => move(index + 1)}
          />
          <IconButton icon="trash" label={`Remove ${name}`} onClick={() => put(undefined)} />
        </span>
      )}
    </li>
  );
}
