// What a collection shows when there is no row: nothing yet, nothing that matches, or a problem.

import { root } from "../api/client.ts";
import type { Problem } from "../api/problem.ts";
import { isFiltered, searchText, type View } from "../grid/view.ts";
import { isAdmin } from "../state/collections.ts";
import { linkTo, screenPath } from "../state/router.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { Message, ProblemMessage } from "../ui/states.tsx";

interface EmptyListProps {
  readonly name: string;
  readonly problem: Problem | undefined;
  readonly params: URLSearchParams;
  readonly view: View;
  /** What a search looks at. */
  readonly searched: readonly string[];
  readonly mayCreate: boolean;
  readonly onClear: () => void;
  readonly onClearSearch: () => void;
  readonly onRetry: () => void;
}

export function EmptyList(props: EmptyListProps) {
  const { name, problem, params, view, mayCreate, onClear, onRetry } = props;
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
      ) : problem?.status === 403 ? (
        <Message icon="shield-check" title={`Your token may not read ${name}`}>
          <p>What it adds is stored, and not shown here.</p>
        </Message>
      ) : problem ? (
        <ProblemMessage problem={problem} retry={onRetry} />
      ) : isFiltered(view) ? (
        <NothingFound {...props} />
      ) : (
        <Message icon="database" title={`${name} has no resources yet`}>
          {mayCreate && (
            <a class="button primary" href={linkTo(screenPath(name, "new"), params)}>
              <Icon name="plus" />
              New resource
            </a>
          )}
          <p class="tool-row">
            {isAdmin.value && (
              <a class="button" href={linkTo(screenPath(name, "definition"))}>
                <Icon name="list-tree" />
                Add fields
              </a>
            )}
            {mayCreate && (
              <a class="button" href={linkTo(screenPath(name, "import"))}>
                <Icon name="upload" />
                Import a file
              </a>
            )}
          </p>
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

function NothingFound({ name, view, searched, onClear, onClearSearch }: EmptyListProps) {
  const hasFilters = isFiltered({ ...view, q: "" });
  const clear = <Button onClick={onClear}>Clear all filters</Button>;
  if (view.q === "")
    return (
      <Message icon="funnel" title="Nothing matches">
        <p>No resource of {name} has all that the filters ask for.</p>
        {clear}
      </Message>
    );
  const fields = searched.includes("*") ? "" : ` in ${searched.join(", ")}`;
  return (
    <Message icon="search" title={`Nothing contains “${searchText(view.q)}”`}>
      <p>
        No resource of {name}
        {hasFilters && " that matches the filters"} has words that begin like this{fields}.
      </p>
      <div class="actions">
        <Button onClick={onClearSearch}>Clear the search</Button>
        {hasFilters && clear}
      </div>
    </Message>
  );
}
