// The files in the form of a resource: a new one is sent with them, another one gets them at once.

import { useMemo } from "preact/hooks";
import { memberOf } from "../api/json.ts";
import type { StoredFile } from "../api/types.ts";
import type { FormFiles } from "../form/context.ts";
import { isFile } from "../form/schema.ts";
import { resourceUrl } from "../state/changes.ts";
import { Preview } from "../ui/preview.tsx";
import { isListField, nameIn, nextName } from "./file-list.ts";
import type { TabProps } from "./tab.ts";
import type { UploadOrder } from "./uploads.ts";

export function useFormFiles({ collection, id, definition, draft, uploads }: TabProps): FormFiles {
  // One component while it is the same resource, so that previews stay.
  const Shown = useMemo(
    () =>
      ({ file }: { file: StoredFile }) => (
        <Preview
          file={file}
          path={`${resourceUrl(collection, id ?? "")}/${nameIn(file)}`}
          definition={definition}
        />
      ),
    [collection, id, definition],
  );
  const keep = (field: string, files: readonly File[]): void => {
    const others = [...draft.files.peek()].filter(([name]) => name !== field);
    draft.files.value = new Map(files.length === 0 ? others : [...others, [field, files]]);
  };
  const upload = (field: string, files: readonly File[]): void =>
    uploads.add(files.map((file) => orderOf(field, file)));
  const orderOf = (field: string, file: File): UploadOrder => {
    const former = memberOf(draft.base.body, field);
    if (isFile(former)) return { nameIn: () => field, file, replaces: `"${former.sha256}"` };
    const isList = isListField(draft.base.body, definition, field, 1);
    return { nameIn: (now) => (isList ? nextName(now, field) : field), file };
  };
  return {
    chosen: draft.files.value,
    choose: id === undefined ? keep : upload,
    Preview: Shown,
  };
}
