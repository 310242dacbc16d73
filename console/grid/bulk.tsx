// What can be done with what is selected: copy, change a field of all, delete.

import { useState } from "preact/hooks";
import { heldDeletions } from "../state/changes.ts";
import { holdBack, tellFailure } from "../state/notices.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { copyText } from "../ui/clipboard.ts";
import { Dialog } from "../ui/dialog.tsx";
import { countText, formatNumber } from "../ui/format.ts";
import { Menu } from "../ui/menu.tsx";
import {
  batchProgress,
  deleteEach,
  deletionOf,
  type Outcome,
  runBatches,
  type Target,
} from "./batch.ts";
import { BulkEdit } from "./bulk-edit.tsx";
import { tellOutcome } from "./bulk-report.tsx";
import type { Column, Row } from "./columns.ts";
import { rowsAsCsv, rowsAsJson } from "./rows-text.ts";
import type { Selection } from "./selection.ts";

/** More than this is deleted only after a question. */
const askedAbove = 1_000;
/** More than this the browser would not send when the page is left. */
const mostAtOnce = 200;

interface SelectionBarProps {
  readonly collection: string;
  readonly selection: Selection;
  /** Undefined when nobody has counted all that match. */
  readonly count: number | undefined;
  /** The selected rows, as they are now; undefined when all that match are selected. */
  readonly rows: (() => readonly Row[]) | undefined;
  /** Reads what is selected; undefined when someone has cancelled it. */
  readonly targets: () => Promise<readonly Target[] | undefined>;
  readonly columns: readonly Column[];
  readonly mayUpdate: boolean;
  readonly mayDelete: boolean;
}

export function SelectionBar(props: SelectionBarProps) {
  const { collection, selection, count, rows, columns, mayUpdate, mayDelete } = props;
  const [edited, setEdited] = useState<readonly Target[]>();
  const [doomed, setDoomed] = useState<readonly Target[]>();
  const isBusy = batchProgress.value !== undefined;
  const withTargets = (then: (targets: readonly Target[]) => void): void =>
    void props.targets().then((targets) => targets && then(targets), tellFailure);
  const remove = (targets: readonly Target[]): void => {
    setDoomed(undefined);
    selection.clear();
    deleteAll(collection, targets);
  };
  return (
    <div class="selection-bar" role="group" aria-label="Selection">
      <strong>{count === undefined ? "All that match" : formatNumber(count)} selected</strong>
      <Button
        icon="pencil"
        isDisabled={!mayUpdate || isBusy}
        onClick={() => withTargets(setEdited)}
      >
        Edit a field
      </Button>
      {rows !== undefined && <CopyMenu rowsNow={rows} columns={columns} />}
      <Button
        icon="trash"
        isDisabled={!mayDelete || isBusy}
        onClick={() =>
          withTargets((all) => (all.length > askedAbove ? setDoomed(all) : remove(all)))
        }
      >
        Delete
      </Button>
      <IconButton icon="x" label="Clear the selection" onClick={() => selection.clear()} />
      {edited && (
        <BulkEdit
          {...{ collection, columns }}
          targets={edited}
          onClose={() => setEdited(undefined)}
        />
      )}
      {doomed && (
        <ConfirmDeletion
          count={doomed.length}
          onDelete={() => remove(doomed)}
          onClose={() => setDoomed(undefined)}
        />
      )}
    </div>
  );
}

interface CopyMenuProps {
  readonly rowsNow: () => readonly Row[];
  readonly columns: readonly Column[];
}

function CopyMenu({ rowsNow, columns }: CopyMenuProps) {
  const copy = (write: (rows: readonly Row[]) => string): void => {
    const rows = rowsNow();
    void copyText(write(rows), countText(rows.length));
  };
  return (
    <Menu
      label="Copy"
      icon="copy"
      items={[
        { label: "Copy as JSON", run: () => copy(rowsAsJson) },
        { label: "Copy as CSV", run: () => copy((rows) => rowsAsCsv(rows, columns)) },
      ]}
    />
  );
}

interface ConfirmProps {
  readonly count: number;
  readonly onDelete: () => void;
  readonly onClose: () => void;
}

const ConfirmDeletion = ({ count, onDelete, onClose }: ConfirmProps) => (
  <Dialog title={`Delete ${countText(count)}?`} onClose={onClose}>
    <p>
      You can undo this for some seconds, and cancel it while it runs. What was deleted until then
      stays deleted.
    </p>
    <div class="dialog-foot">
      <Button onClick={onClose}>Keep them</Button>
      <Button kind="danger" icon="trash" onClick={onDelete}>
        Delete {countText(count)}
      </Button>
    </div>
  </Dialog>
);

/** Held back as one change that can be undone. */
function deleteAll(collection: string, targets: readonly Target[]): void {
  const keys = new Set(targets.map(({ id }) => `${collection}/${id}`));
  const release = (): void => {
    heldDeletions.value = heldDeletions.peek().difference(keys);
  };
  const runBy = (remove: () => Promise<Outcome>) => async (): Promise<void> => {
    const outcome = await remove();
    release();
    tellOutcome("Deleted", outcome);
  };
  heldDeletions.value = heldDeletions.peek().union(keys);
  holdBack({
    text: `${countText(targets.length)} will be deleted.`,
    run: runBy(() => runBatches(targets, deletionOf(collection))),
    ...(targets.length <= mostAtOnce && { leave: runBy(() => deleteEach(collection, targets)) }),
    undone: release,
  });
}
