// The files of a resource: previews, download, replace, remove, and new ones by choosing or dropping them.

import { useRef, useState } from "preact/hooks";
import type { JsonObject } from "../api/json.ts";
import { tellFailure } from "../state/notices.ts";
import { Button } from "../ui/button.tsx";
import { useDrop } from "../ui/drop.ts";
import { Field } from "../ui/field.tsx";
import { FileCard } from "./file-card.tsx";
import {
  fieldProblem,
  fileFields,
  filesOf,
  isListField,
  nextName,
  usualField,
} from "./file-list.ts";
import type { TabProps } from "./tab.ts";
import { UploadList } from "./upload-list.tsx";

export function FilesTab(props: TabProps) {
  const { draft, lockOf, uploads } = props;
  const files = filesOf(draft.base.body);
  return (
    <div class="form">
      {files.length === 0 && <p class="faint">This resource has no files yet.</p>}
      <ul class="files">
        {files.map(({ field, file }) => (
          <FileCard key={`${file.url} ${file.sha256}`} {...props} {...{ field, file }} />
        ))}
      </ul>
      <UploadList uploads={uploads} />
      {lockOf("") === undefined && <AddFiles {...props} />}
    </div>
  );
}

const another = "";

function AddFiles({ definition, draft, lockOf, uploads }: TabProps) {
  const resource = draft.base.body;
  const fields = fileFields(resource, definition);
  const isOpen = definition.schema?.additionalProperties !== false;
  const [picked, setPicked] = useState<string>();
  const [typed, setTyped] = useState(() => usualField(resource));
  const chooser = useRef<HTMLInputElement>(null);
  const fitting = fields.find((name) => fieldProblem(resource, name) === undefined);
  const choice = picked ?? fitting ?? (isOpen ? another : (fields[0] ?? another));
  const field = choice === another ? typed : choice;
  const wrong = fieldProblem(resource, field) ?? lockOf(field);
  const add = (files: FileList | null | undefined): void => {
    const chosen = [...(files ?? [])];
    if (wrong !== undefined || chosen.length === 0) return;
    const isList = isListField(resource, definition, field, chosen.length);
    const nameIn = (now: JsonObject): string => (isList ? nextName(now, field) : field);
    if (!isList && chosen.length > 1) tellFailure(new Error(`${field} has room for one file.`));
    else uploads.add(chosen.map((file) => ({ nameIn, file })));
  };
  const drop = useDrop(add);
  if (fields.length === 0 && !isOpen)
    return <p class="faint">The definition of this collection has no field for files.</p>;
  const errors = wrong === undefined ? [] : [wrong];
  return (
    <section class="file-drop" aria-label="Add files" {...drop}>
      <p>Drop files here, or choose them.</p>
      {fields.length > 0 && (
        <Field label="Field" errors={choice === another ? [] : errors}>
          {(attributes) => (
            <select
              {...attributes}
              value={choice}
              onChange={({ currentTarget }) => setPicked(currentTarget.value)}
            >
              {fields.map((name) => (
                <option key={name}>{name}</option>
              ))}
              {isOpen && <option value={another}>Another field…</option>}
            </select>
          )}
        </Field>
      )}
      {choice === another && (
        <Field
          label={fields.length > 0 ? "Name of the field" : "Field"}
          help="Where the resource keeps the file. Several files become a list."
          errors={errors}
        >
          {(attributes) => (
            <input
              {...attributes}
              type="text"
              autocomplete="off"
              value={typed}
              onInput={({ currentTarget }) => setTyped(currentTarget.value)}
            />
          )}
        </Field>
      )}
      <input
        ref={chooser}
        type="file"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          add(currentTarget.files);
          currentTarget.value = "";
        }}
      />
      <Button
        kind="primary"
        icon="upload"
        isDisabled={wrong !== undefined}
        onClick={() => chooser.current?.click()}
      >
        Choose files
      </Button>
    </section>
  );
}
