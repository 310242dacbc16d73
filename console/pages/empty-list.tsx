// What a collection shows when there is no row: nothing yet, nothing that matches, or a problem.

import { root } from "../api/client.ts";
import type { Problem } from "../api/problem.ts";
import { linkTo, screenPath } from "../state/router.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { Message, ProblemMessage } from "../ui/states.tsx";

interface EmptyListProps {
  readonly name: string;
  readonly problem: Problem | undefined;
  readonly params: URLSearchParams;
  readonly isFiltered: boolean;
  readonly mayCreate: boolean;
  readonly onClear: () => void;
  readonly onRetry: () => void;
}

export function EmptyList(props: EmptyListProps) {
  const { name, problem, params, isFiltered, mayCreate, onClear, onRetry } = props;
  return (
    <div class="grid-empty">
      {problem?.status === 400 ? (
        <Message icon="funnel" title="The server does not take this view" isAlert>
          {problem.errors.map(({ parameter, detail }) => (
            <p key={detail}>
              <code>{parameter}</code> {detail}
            </p>
          ))}
          <p>Change what is marked above, or begin again.</p>
          <Button onClick={onClear}>Clear all filters</Button>
        </Message>
      ) : problem ? (
        <ProblemMessage problem={problem} retry={onRetry} />
      ) : isFiltered ? (
        <Message icon="search" title="Nothing matches">
          <p>No resource of {name} has all that the filters ask for.</p>
          <Button onClick={onClear}>Clear all filters</Button>
        </Message>
      ) : (
        <Message icon="database" title={`${name} has no resources yet`}>
          {mayCreate && (
            <a class="button primary" href={linkTo(screenPath(name, "new"), params)}>
              <Icon name="plus" />
              New resource
            </a>
          )}
          <p>Or send one:</p>
          <pre class="code-block">{`curl ${new URL(name, root).href} \\
  -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '{"name": "Ada"}'`}</pre>
        </Message>
      )}
    </div>
  );
}
