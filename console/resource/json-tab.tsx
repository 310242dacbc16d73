// The resource as JSON. It is the same draft as the form.

import { isEqual, isObject } from "../api/json.ts";
import { JsonEditor } from "../editor/json-editor.tsx";
import { parseJson } from "../form/values.ts";
import { wholeText } from "./form-tab.tsx";
import type { TabProps } from "./tab.ts";

export function JsonTab({ definition, draft, lockOf }: TabProps) {
  const { value, text, textErrors, change } = draft;
  const typed = text.value;
  const parsed = typed === undefined ? undefined : parseJson(typed);
  const isCurrent =
    parsed !== undefined &&
    ("error" in parsed || !isObject(parsed.value) || isEqual(parsed.value, value));
  const edit = (next: string): void => {
    const result = parseJson(next);
    text.value = next;
    if ("error" in result) textErrors.value = new Map([[wholeText, result.error]]);
    else if (!isObject(result.value))
      textErrors.value = new Map([[wholeText, "A resource is an object: { … }"]]);
    else {
      textErrors.value = new Map();
      change(result.value);
    }
  };
  const error = textErrors.value.get(wholeText);
  return (
    <div class="json-tab">
      <JsonEditor
        label="The resource as JSON"
        text={isCurrent ? (typed ?? "") : JSON.stringify(value, null, 2)}
        schema={definition.schema}
        isReadOnly={lockOf("") !== undefined}
        onChange={edit}
      />
      <p class={error === undefined ? "faint" : "errors"} role="status">
        {error ?? "Ctrl+Space shows what the schema knows. Tab leaves the text."}
      </p>
    </div>
  );
}
