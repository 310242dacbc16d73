// One field of a form: picks the inputs by the kind of the value.

import { useContext } from "preact/hooks";
import { resolveSchema } from "../api/schema.ts";
import { isAdmin } from "../state/collections.ts";
import { type FieldProps, Form } from "./context.ts";
import { FileField } from "./file-field.tsx";
import { Leaf } from "./leaf.tsx";
import { ArrayField, ObjectField } from "./nested.tsx";
import { ReferenceField } from "./reference.tsx";
import { kindOf } from "./schema.ts";

export function AnyField(props: FieldProps) {
  const form = useContext(Form);
  const schema = resolveSchema(props.schema, form?.root ?? {});
  const all = { ...props, schema, lock: props.lock ?? lockBySchema(schema.readOnly) };
  const reference = form?.references[props.path];
  const isId = props.value === undefined || props.value === null || typeof props.value === "string";
  if (reference !== undefined && isId && typeof reference.collection === "string")
    return <ReferenceField {...all} reference={reference} />;
  const kind = kindOf(schema, props.value);
  if (kind === "file") return <FileField {...all} />;
  if (kind === "object") return <ObjectField {...all} Field={AnyField} />;
  if (kind === "array") return <ArrayField {...all} Field={AnyField} />;
  return <Leaf {...all} kind={kind} />;
}

const lockBySchema = (isReadOnly: boolean | undefined): string | undefined =>
  isReadOnly && !isAdmin.value ? "Read-only: only an administrator may set it." : undefined;
