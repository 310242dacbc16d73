// The place where a file is dropped or chosen.

import { useState } from "preact/hooks";
import { Icon } from "../ui/icon.tsx";

const accepted =
  ".csv,.tsv,.txt,.json,.ndjson,.jsonl,text/csv,application/json,application/x-ndjson";

export function ChooseFile({ onFile }: { onFile: (file: File) => void }) {
  const [isOver, setOver] = useState(false);
  const take = (files: FileList | null | undefined): void => {
    const file = files?.[0];
    if (file !== undefined) onFile(file);
  };
  return (
    <label
      class="drop"
      data-over={isOver || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        take(event.dataTransfer?.files);
      }}
    >
      <Icon name="upload" />
      <span>Drop a CSV, NDJSON or JSON file here, or choose one</span>
      <input type="file" accept={accepted} onChange={(event) => take(event.currentTarget.files)} />
    </label>
  );
}
