// What stands above a resource: a rejected change, a change by someone else, or that it is gone.

import type { Problem, ProblemDetail } from "../api/problem.ts";
import { Button } from "../ui/button.tsx";
import type { TabProps } from "./tab.ts";

interface NotesProps extends TabProps {
  /** Whether the fields with their errors are below. */
  readonly isForm: boolean;
}

export function Notes({ definition, draft, lockOf, isForm }: NotesProps) {
  const { problem, isGone, isOutdated, isBusy, value, base, restore } = draft;
  const lock = lockOf("");
  const shown = isForm ? { ...definition.schema?.properties, ...value, ...base.body } : {};
  const names = new Set(Object.keys(shown));
  return (
    <div class="notes">
      {isGone && (
        <div class="note" role="alert">
          <p>Someone else has deleted this resource. What you see is kept here.</p>
          <Button isBusy={isBusy} onClick={() => void restore()}>
            Create it again
          </Button>
        </div>
      )}
      {isOutdated && !isGone && (
        <p class="note" role="status">
          Someone else has changed this resource. When you save, you see both versions.
        </p>
      )}
      {problem && !isGone && <ProblemNote problem={problem} names={names} />}
      {lock && <p class="note plain">{lock}</p>}
    </div>
  );
}

/** Errors of fields are shown there, the others here. */
function ProblemNote({ problem, names }: { problem: Problem; names: ReadonlySet<string> }) {
  const isShownBelow = ({ pointer }: ProblemDetail): boolean =>
    pointer !== undefined && names.has(nameAt(pointer));
  const others = problem.errors.filter((error) => !isShownBelow(error));
  const below = problem.errors.filter(isShownBelow);
  return (
    <div class="note danger" role="alert">
      <p>
        <strong>Not saved:</strong> {headOf(problem, below)}
      </p>
      {others.length > 0 && (
        <ul>
          {others.map(({ pointer, parameter, detail }) => (
            <li key={`${pointer} ${detail}`}>
              <code>{pointer ?? parameter}</code> {detail}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** What is to do, in a few words; the fields say more. */
function headOf(problem: Problem, below: readonly ProblemDetail[]): string {
  const names = [...new Set(below.map(({ pointer = "" }) => nameAt(pointer)))];
  if (names.length === 0) return problem.detail;
  if (problem.status === 409) return `this ${names.join(" and ")} is already used.`;
  return names.length === 1
    ? `${names[0]} needs attention.`
    : `${names.length} fields need attention.`;
}

const nameAt = (pointer: string): string =>
  (pointer.split("/")[1] ?? "").replaceAll("~1", "/").replaceAll("~0", "~");
