// The place where a file is dropped or chosen.

import { useDrop } from "../ui/drop.ts";
import { Icon } from "../ui/icon.tsx";

const accepted =
  ".csv,.tsv,.txt,.json,.ndjson,.jsonl,text/csv,application/json,application/x-ndjson";

export function ChooseFile({ onFile }: { onFile: (file: File) => void }) {
  const take = (files: FileList | null | undefined): void => {
    const file = files?.[0];
    if (file !== undefined) onFile(file);
  };
  const drop = useDrop(take);
  return (
    <label class="drop" {...drop}>
      <Icon name="upload" />
      <span>Drop a CSV, NDJSON or JSON file here, or choose one</span>
      <span class="button primary">Choose a file</span>
      <input
        type="file"
        class="hidden-text"
        accept={accepted}
        onChange={(event) => take(event.currentTarget.files)}
      />
    </label>
  );
}
