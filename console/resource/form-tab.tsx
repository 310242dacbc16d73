// The resource as a form.

import { SchemaForm } from "../form/form.tsx";
import { Message } from "../ui/states.tsx";
import { useFormFiles } from "./form-files.tsx";
import type { TabProps } from "./tab.ts";
import { UploadList } from "./upload-list.tsx";

/** The pointer of a text in the JSON tab that is not JSON. */
export const wholeText = "";

export function FormTab(props: TabProps) {
  const { definition, draft, lockOf } = props;
  const { value, problem, textErrors, change } = draft;
  const files = useFormFiles(props);
  if (textErrors.value.has(wholeText))
    return (
      <Message icon="circle-alert" title="The JSON text has an error">
        <p>Correct it in the JSON tab, or discard the changes.</p>
      </Message>
    );
  return (
    <>
      <UploadList uploads={props.uploads} />
      <SchemaForm
        {...{ definition, value, problem, lockOf, textErrors, files }}
        onChange={change}
      />
    </>
  );
}
