// One file of a resource, and what can be done with it.

import { useRef } from "preact/hooks";
import { fetchJson, getTagged, send } from "../api/client.ts";
import type { Resource, StoredFile } from "../api/types.ts";
import { readFile } from "../api/upload.ts";
import { reportChange, resourceUrl } from "../state/changes.ts";
import { holdBack, tellDone, tellFailure } from "../state/notices.ts";
import { Button } from "../ui/button.tsx";
import { formatBytes } from "../ui/format.ts";
import { Preview } from "../ui/preview.tsx";
import { nameIn } from "./file-list.ts";
import type { TabProps } from "./tab.ts";

interface FileCardProps extends TabProps {
  readonly field: string;
  readonly file: StoredFile;
}

export function FileCard(props: FileCardProps) {
  const { collection, id = "", definition, draft, lockOf, field, file, uploads } = props;
  const path = `${resourceUrl(collection, id)}/${nameIn(file)}`;
  const name = file.name || nameIn(file);
  const lock = lockOf(field);
  const chooser = useRef<HTMLInputElement>(null);
  const etag = `"${file.sha256}"`;
  const removeNow = async (): Promise<void> => {
    await send({ method: "DELETE", path, headers: { "If-Match": etag } });
    draft.adopt(await getTagged<Resource>(resourceUrl(collection, id)));
    reportChange();
    tellDone(`Removed ${name}.`);
  };
  const remove = (): void =>
    holdBack({
      ...{ text: `${name} will be removed.`, run: removeNow, leave: removeNow },
      undone: () => {},
    });
  const hidden = <span class="hidden-text"> {name}</span>;
  const locked = { isDisabled: lock !== undefined, ...(lock && { title: lock }) };
  return (
    <li class="file">
      <Preview file={file} path={path} definition={definition} />
      <div class="file-facts">
        <strong dir="auto" title={file.name}>
          {name}
        </strong>
        <span class="faint">
          {nameIn(file)} · {file.type} · {formatBytes(file.size)}
        </span>
        <span class="file-tools">
          <Button
            icon="download"
            onClick={() => void download(file, path, definition.signedUrls === true)}
          >
            Download{hidden}
          </Button>
          <Button icon="upload" {...locked} onClick={() => chooser.current?.click()}>
            Replace{hidden}
          </Button>
          <Button icon="trash" {...locked} onClick={remove}>
            Remove{hidden}
          </Button>
        </span>
      </div>
      <input
        ref={chooser}
        type="file"
        hidden
        onChange={({ currentTarget }) => {
          const [chosen] = currentTarget.files ?? [];
          if (chosen) uploads.add([{ nameIn: () => nameIn(file), file: chosen, replaces: etag }]);
          currentTarget.value = "";
        }}
      />
    </li>
  );
}

/** A link cannot carry the token. Where URLs can be signed the browser saves the file itself. */
async function download(file: StoredFile, path: string, isSigned: boolean): Promise<void> {
  try {
    if (isSigned) {
      const body = { path: `${path}?download=`, expiresIn: 60 };
      const { url } = await fetchJson<{ url: string }>({
        method: "POST",
        path: "/-/signed-urls",
        body,
      });
      follow(url, file.name);
    } else {
      const url = URL.createObjectURL(await readFile(path, new AbortController().signal));
      follow(url, file.name);
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    }
  } catch (error) {
    tellFailure(error);
  }
}

function follow(url: string, name: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}
