// What can be done with the selected rows: copy, change a field of all, delete.

import { useState } from "preact/hooks";
import { asProblem } from "../api/problem.ts";
import { heldDeletions } from "../state/changes.ts";
import { holdBack, tellDone } from "../state/notices.ts";
import { titleOf } from "../state/titles.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { copyText } from "../ui/clipboard.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { formatNumber } from "../ui/format.ts";
import { Menu } from "../ui/menu.tsx";
import {
  batchFailures,
  batchProgress,
  deleteOperation,
  patchOperation,
  runBatches,
} from "./batch.ts";
import type { Column, Row } from "./columns.ts";
import { inputKind, readInput } from "./edit.ts";
import { patchAt } from "./paths.ts";
import { rowsAsCsv, rowsAsJson } from "./rows-text.ts";
import type { Selection } from "./selection.ts";
import { ValueInput } from "./value-input.tsx";

interface BulkProps {
  readonly collection: string;
  readonly selection: Selection;
  /** The selected rows, as they are now. */
  readonly rows: readonly Row[];
  readonly columns: readonly Column[];
  readonly mayUpdate: boolean;
  readonly mayDelete: boolean;
}

export function SelectionBar(props: BulkProps) {
  const { collection, selection, rows, columns, mayUpdate, mayDelete } = props;
  const [isEditing, setEditing] = useState(false);
  const copy = (text: string): void => void copyText(text, countText(rows.length));
  return (
    <div class="selection-bar" role="group" aria-label="Selection">
      <strong>{formatNumber(rows.length)} selected</strong>
      <Button icon="pencil" isDisabled={!mayUpdate} onClick={() => setEditing(true)}>
        Edit a field
      </Button>
      <Menu
        label="Copy"
        icon="copy"
        items={[
          { label: "Copy as JSON", run: () => copy(rowsAsJson(rows)) },
          { label: "Copy as CSV", run: () => copy(rowsAsCsv(rows, columns)) },
        ]}
      />
      <Button
        icon="trash"
        isDisabled={!mayDelete}
        onClick={() => {
          selection.clear();
          deleteRows(collection, rows);
        }}
      >
        Delete
      </Button>
      <IconButton icon="x" label="Clear the selection" onClick={() => selection.clear()} />
      {isEditing && (
        <BulkEdit {...{ collection, columns, rows }} onClose={() => setEditing(false)} />
      )}
    </div>
  );
}

export const countText = (count: number): string =>
  count === 1 ? "1 resource" : `${formatNumber(count)} resources`;

/** Held back as one change that can be undone. */
function deleteRows(collection: string, rows: readonly Row[]): void {
  const keys = new Set(rows.map(({ id }) => `${collection}/${id}`));
  const release = (): void => {
    heldDeletions.value = heldDeletions.peek().difference(keys);
  };
  heldDeletions.value = heldDeletions.peek().union(keys);
  holdBack(
    `Deleted ${countText(rows.length)}.`,
    async () => {
      await runBatches(rows, deleteOperation(collection));
      release();
    },
    release,
  );
}

interface BulkEditProps {
  readonly collection: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly onClose: () => void;
}

function BulkEdit({ collection, columns, rows, onClose }: BulkEditProps) {
  const fields = columns.filter(({ locked }) => locked === undefined);
  const [path, setPath] = useState(fields[0]?.path ?? "");
  const [text, setText] = useState("");
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const column = fields.find((one) => one.path === path);
  const kind = column === undefined ? "text" : inputKind(column, undefined);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const value = readInput(kind, text, undefined);
    if (column === undefined || value === undefined) return setError("This is no number.");
    setBusy(true);
    try {
      const changed = await runBatches(rows, patchOperation(collection, patchAt(path, value)));
      onClose();
      tellDone(`Changed ${countText(changed)}.`);
    } catch (failure) {
      setError(asProblem(failure).message);
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Edit a field of ${countText(rows.length)}`} onClose={onClose}>
      <form class="filter-editor" onSubmit={(event) => void submit(event)}>
        <Field label="Field">
          {(attributes) => (
            <select
              {...attributes}
              value={path}
              onChange={(event) => {
                setPath(event.currentTarget.value);
                setText("");
              }}
            >
              {fields.map((one) => (
                <option key={one.path} value={one.path}>
                  {one.label}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field
          label="New value"
          help="Leave it empty to remove the field."
          errors={error === undefined ? [] : [error]}
        >
          {(attributes) => (
            <ValueInput
              attributes={{ ...attributes }}
              kind={kind}
              options={column?.options ?? []}
              text={text}
              onText={setText}
              isClearable
            />
          )}
        </Field>
        <BatchProgress />
        <div class="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={isBusy}>
            {text === "" ? "Remove the field of" : "Change"} {countText(rows.length)}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export function BatchProgress() {
  const progress = batchProgress.value;
  if (progress === undefined) return null;
  return (
    <label class="progress">
      {formatNumber(progress.done)} of {countText(progress.total)}
      <progress value={progress.done} max={progress.total} />
    </label>
  );
}

/** What a batch has rejected, row by row. */
export function FailureList() {
  const failures = batchFailures.value;
  if (failures.length === 0) return null;
  const close = (): void => {
    batchFailures.value = [];
  };
  return (
    <Dialog title={`${countText(failures.length)} could not be changed`} onClose={close}>
      <ul class="failure-list">
        {failures.map(({ row, detail }) => (
          <li key={row.id}>
            <strong dir="auto">{titleOf(row)}</strong> <code>{row.id}</code>
            <p>{detail}</p>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
