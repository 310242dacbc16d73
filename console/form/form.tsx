// A form made from a JSON Schema, or from the members that are there.

import { useEffect, useMemo, useRef } from "preact/hooks";
import type { JsonObject } from "../api/json.ts";
import type { Problem } from "../api/problem.ts";
import { resolveSchema } from "../api/schema.ts";
import type { Definition } from "../api/types.ts";
import { Form, type FormContext } from "./context.ts";
import { AnyField } from "./field.tsx";
import { Members } from "./members.tsx";

export interface SchemaFormProps extends Pick<FormContext, "lockOf" | "textErrors" | "files"> {
  readonly definition: Definition;
  readonly value: JsonObject;
  readonly problem: Problem | undefined;
  readonly onChange: (value: JsonObject) => void;
}

export function SchemaForm(props: SchemaFormProps) {
  const { definition, value, problem, lockOf, textErrors, files, onChange } = props;
  const box = useRef<HTMLDivElement>(null);
  const { schema: root = {}, references = {} } = definition;
  const schema = useMemo(() => resolveSchema(root, root), [root]);
  useFirstInvalid(box, problem);
  return (
    <Form.Provider value={{ root, references, problem, lockOf, textErrors, files }}>
      <div class="form" ref={box}>
        <Members {...{ schema, value, lockOf, onChange }} pointer="" path="" Field={AnyField} />
      </div>
    </Form.Provider>
  );
}

/** Focuses the first field that the server did not accept. */
function useFirstInvalid(box: { current: HTMLElement | null }, problem: Problem | undefined): void {
  useEffect(() => {
    if (problem === undefined) return;
    const selector = "[aria-invalid=true], [data-invalid]:is(button, p)";
    const first = box.current?.querySelector<HTMLElement>(selector);
    first?.focus();
    first?.scrollIntoView({ block: "nearest" });
  }, [problem?.headers]);
}
