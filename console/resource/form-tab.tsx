// The resource as a form.

import { SchemaForm } from "../form/form.tsx";
import { Message } from "../ui/states.tsx";
import type { TabProps } from "./tab.ts";

/** The pointer of a text in the JSON tab that is not JSON. */
export const wholeText = "";

export function FormTab({ definition, draft, lockOf }: TabProps) {
  const { value, problem, textErrors, change } = draft;
  if (textErrors.value.has(wholeText))
    return (
      <Message icon="circle-alert" title="The JSON text has an error">
        <p>Correct it in the JSON tab, or discard the changes.</p>
      </Message>
    );
  return <SchemaForm {...{ definition, value, problem, lockOf, textErrors }} onChange={change} />;
}
