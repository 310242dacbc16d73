// What no longer fits a definition, before it is saved.

import type { ProblemDetail } from "../api/problem.ts";
import { linkTo, resourcePath } from "../state/router.ts";
import { formatNumber } from "../ui/format.ts";
import { Message } from "../ui/states.tsx";

export interface Violations {
  readonly count: number;
  readonly first: readonly { readonly id: string; readonly errors: readonly ProblemDetail[] }[];
  readonly checked?: number;
}

interface CheckResultProps {
  readonly collection: string;
  readonly violations: Violations;
}

export function CheckResult({ collection, violations }: CheckResultProps) {
  const { count, first, checked } = violations;
  const looked = checked === undefined ? "" : ` of the first ${formatNumber(checked)}`;
  if (count === 0)
    return (
      <p role="status" class="verdict yes">
        All resources{looked} fit this definition.
      </p>
    );
  return (
    <Message
      icon="info"
      title={`${formatNumber(count)} resources${looked} would no longer fit`}
      isAlert
    >
      <p>They stay as they are, and must be made valid at their next change.</p>
      <ul>
        {first.map(({ id, errors }) => (
          <li key={id}>
            <a href={linkTo(resourcePath(collection, id))}>{id}</a>:{" "}
            {errors.map(({ pointer, detail }) => `${pointer ?? ""} ${detail}`).join("; ")}
          </li>
        ))}
      </ul>
    </Message>
  );
}
