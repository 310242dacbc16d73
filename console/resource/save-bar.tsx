// The bar below a resource: what was changed, and the buttons that save or discard it.

import { Button } from "../ui/button.tsx";
import type { TabProps } from "./tab.ts";

interface SaveBarProps extends TabProps {
  readonly save: () => Promise<boolean>;
  readonly saveAndNext: (() => void) | undefined;
  readonly saveAndCreate: (() => void) | undefined;
}

export function SaveBar({ id, draft, lockOf, save, saveAndNext, saveAndCreate }: SaveBarProps) {
  const { changed, isBusy, textErrors, discard } = draft;
  const lock = lockOf("");
  const isUnchanged = changed.length === 0 && textErrors.value.size === 0;
  const isIdle = lock !== undefined || (isUnchanged && id !== undefined);
  const shared = { isBusy, isDisabled: isIdle, ...(lock && { title: lock }) };
  return (
    <footer class="save-bar">
      <p class="faint" role="status" title={changed.join(", ")}>
        {summaryOf(changed, id === undefined)}
      </p>
      <Button kind="quiet" isDisabled={isUnchanged} onClick={discard}>
        Discard
      </Button>
      {saveAndCreate && (
        <Button {...shared} onClick={saveAndCreate}>
          Save and create another
        </Button>
      )}
      {saveAndNext && (
        <Button {...shared} onClick={saveAndNext}>
          Save and next
        </Button>
      )}
      <Button kind="primary" icon="save" {...shared} onClick={() => void save()}>
        {id === undefined ? "Create" : "Save"}
      </Button>
    </footer>
  );
}

function summaryOf(changed: readonly string[], isNew: boolean): string {
  if (changed.length === 0) return isNew ? "Nothing filled in" : "No changes";
  if (changed.length === 1) return `Changed: ${changed[0]}`;
  return `${changed.length} fields ${isNew ? "filled in" : "changed"}`;
}
