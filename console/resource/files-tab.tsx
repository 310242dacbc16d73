// The files of a resource: previews, download, replace, remove, and new ones by choosing or dropping them.

import { useId, useRef, useState } from "preact/hooks";
import type { JsonObject } from "../api/json.ts";
import { tellFailure } from "../state/notices.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { useDrop } from "../ui/drop.ts";
import { Field } from "../ui/field.tsx";
import { formatBytes } from "../ui/format.ts";
import { FileCard } from "./file-card.tsx";
import { fieldProblem, filesOf, isListField, nextName, usualField } from "./file-list.ts";
import type { TabProps } from "./tab.ts";
import type { Upload } from "./uploads.ts";

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
      <ul class="uploads" aria-label="Uploads">
        {uploads.list.map((upload, index) => (
          <UploadLine
            key={`${index} ${upload.file.name}`}
            upload={upload}
            onCancel={() => uploads.cancel(upload)}
            onRetry={() => uploads.retry(upload)}
          />
        ))}
      </ul>
      {lockOf("") === undefined && <AddFiles {...props} />}
    </div>
  );
}

interface UploadLineProps {
  readonly upload: Upload;
  readonly onCancel: () => void;
  readonly onRetry: () => void;
}

function UploadLine({ upload, onCancel, onRetry }: UploadLineProps) {
  const { file, sent, problem } = upload;
  return (
    <li>
      <span class="upload-name" dir="auto">
        {file.name}
      </span>
      {problem === undefined ? (
        <progress max={file.size} value={sent} aria-label={`Upload of ${file.name}`} />
      ) : (
        <span class="errors" role="alert">
          {problem.message}
        </span>
      )}
      <span class="faint">
        {formatBytes(sent)} of {formatBytes(file.size)}
      </span>
      {problem && (
        <IconButton icon="refresh-cw" label={`Upload ${file.name} again`} onClick={onRetry} />
      )}
      <IconButton
        icon="x"
        label={`${problem ? "Close" : "Cancel"} the upload of ${file.name}`}
        onClick={onCancel}
      />
    </li>
  );
}

function AddFiles({ definition, draft, lockOf, uploads }: TabProps) {
  const resource = draft.base.body;
  const [field, setField] = useState(() => usualField(resource, definition));
  const chooser = useRef<HTMLInputElement>(null);
  const list = useId();
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
  return (
    <section class="file-drop" aria-label="Add files" {...drop}>
      <p>Drop files here, or choose them.</p>
      <Field
        label="Field"
        help="The member of the resource that has the file. Several files become a list."
        errors={wrong === undefined ? [] : [wrong]}
      >
        {(attributes) => (
          <input
            {...attributes}
            type="text"
            list={list}
            autocomplete="off"
            value={field}
            onInput={({ currentTarget }) => setField(currentTarget.value)}
          />
        )}
      </Field>
      <datalist id={list}>
        {[...new Set(filesOf(resource).map((one) => one.field))].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
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
