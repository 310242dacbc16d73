// Changes one field of many resources.

import { useState } from "preact/hooks";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { countText } from "../ui/format.ts";
import { numberHint } from "../ui/number-text.ts";
import { batchProgress, patchOf, runBatches, type Target } from "./batch.ts";
import { BatchProgress, tellOutcome } from "./bulk-report.tsx";
import type { Column } from "./columns.ts";
import { inputKind, readInput } from "./edit.ts";
import { patchAt } from "./paths.ts";
import { ValueInput } from "./value-input.tsx";

interface BulkEditProps {
  readonly collection: string;
  readonly columns: readonly Column[];
  readonly targets: readonly Target[];
  readonly onClose: () => void;
}

export function BulkEdit({ collection, columns, targets, onClose }: BulkEditProps) {
  // As in a cell, they stay as they are while somebody edits, whatever the definition says meanwhile.
  const [fields] = useState(() => columns.filter(({ locked }) => locked === undefined));
  const [path, setPath] = useState("");
  const [text, setText] = useState("");
  const [isRemoval, setRemoval] = useState(false);
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const column = fields.find((one) => one.path === path);
  const kind = column === undefined ? "text" : inputKind(column, undefined);
  const close = (): void => (isBusy ? batchProgress.peek()?.cancel() : onClose());
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const value = isRemoval ? null : readInput(kind, text, undefined);
    if (value === undefined) return setError(numberHint(text));
    setBusy(true);
    const outcome = await runBatches(targets, patchOf(collection, patchAt(path, value)));
    onClose();
    tellOutcome("Changed", outcome);
  };
  return (
    <Dialog title={`Edit a field of ${countText(targets.length)}`} onClose={close}>
      <form class="filter-editor" onSubmit={(event) => void submit(event)}>
        <Field label="Field">
          {(attributes) => (
            <select
              {...attributes}
              value={path}
              onChange={(event) => {
                setPath(event.currentTarget.value);
                setText("");
                setRemoval(false);
              }}
            >
              {column === undefined && <option value="">Choose a field</option>}
              {fields.map((one) => (
                <option key={one.path} value={one.path}>
                  {one.label}
                </option>
              ))}
            </select>
          )}
        </Field>
        {column && !isRemoval && (
          <Field label="New value" errors={error === undefined ? [] : [error]}>
            {(attributes) => (
              <ValueInput
                attributes={{ ...attributes }}
                kind={kind}
                options={column.options}
                text={text}
                onText={setText}
              />
            )}
          </Field>
        )}
        {column && !column.isRequired && (
          <label class="check removal">
            <input
              type="checkbox"
              checked={isRemoval}
              onChange={(event) => setRemoval(event.currentTarget.checked)}
            />
            Remove the field instead
          </label>
        )}
        <BatchProgress />
        <div class="dialog-foot">
          {!isBusy && <Button onClick={close}>Cancel</Button>}
          <Button
            type="submit"
            kind={isRemoval ? "danger" : "primary"}
            isBusy={isBusy}
            isDisabled={column === undefined || (text === "" && !isRemoval)}
          >
            {isRemoval ? `Remove ${column?.label} of` : "Change"} {countText(targets.length)}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
