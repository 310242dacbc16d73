// Tells how far a change of many resources is, and what came of it.

import { asProblem } from "../api/problem.ts";
import { tellDone, tellFailure } from "../state/notices.ts";
import { linkTo, resourcePath } from "../state/router.ts";
import { titleOf } from "../state/titles.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { countText, formatNumber } from "../ui/format.ts";
import { batchFailures, batchProgress, type Outcome } from "./batch.ts";

export function tellOutcome(verb: "Changed" | "Deleted", outcome: Outcome): void {
  const { changed, total, isCancelled, error, undo } = outcome;
  const part = `${verb} ${formatNumber(changed)} of ${countText(total)}.`;
  // The list of failures says why.
  if (changed === 0 && error === undefined && !isCancelled) return;
  if (isCancelled) tellDone(`Cancelled. ${part}`, undo);
  else if (error !== undefined) tellFailure(new Error(`${part} ${asProblem(error).detail}`));
  else tellDone(changed === total ? `${verb} ${countText(total)}.` : part, undo);
}

export function BatchProgress() {
  const progress = batchProgress.value;
  if (progress === undefined) return null;
  const { verb, done, total, cancel } = progress;
  return (
    <div class="progress">
      <label>
        {verb} {formatNumber(done)}
        {total === undefined ? "" : ` of ${countText(total)}`}{" "}
        <progress value={total === undefined ? undefined : done} max={total} />
      </label>
      <Button kind="quiet" onClick={cancel}>
        Cancel
      </Button>
    </div>
  );
}

const listed = 100;

/** What was rejected, one by one. */
export function FailureList() {
  const failures = batchFailures.value;
  if (failures.length === 0) return null;
  const close = (): void => {
    batchFailures.value = [];
  };
  return (
    <Dialog title={`${countText(failures.length)} could not be changed`} onClose={close}>
      <ul class="failure-list">
        {failures.slice(0, listed).map(({ collection, target: { _etag, ...shown }, detail }) => (
          <li key={`${collection}/${shown.id}`}>
            <a href={linkTo(resourcePath(collection, shown.id))} dir="auto" onClick={close}>
              {titleOf(shown)}
            </a>{" "}
            <code>{shown.id}</code>
            <p>{detail}</p>
          </li>
        ))}
      </ul>
      {failures.length > listed && <p>And {countText(failures.length - listed)} more.</p>}
    </Dialog>
  );
}
