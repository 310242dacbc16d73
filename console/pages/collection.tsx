// A collection: its resources in a grid, with filters, and one of them in a panel beside it.

import { useEffect, useMemo } from "preact/hooks";
import { get } from "../api/client.ts";
import type { Problem } from "../api/problem.ts";
import type { Definition, Page, Rights } from "../api/types.ts";
import { chosenColumns, columnsOf, type Row } from "../grid/columns.ts";
import { isNarrow } from "../grid/narrow.ts";
import { parseView } from "../grid/view.ts";
import { collections, findCollection, isAdmin } from "../state/collections.ts";
import { useLoad } from "../state/load.ts";
import { linkTo, route, screenPath } from "../state/router.ts";
import { rememberView } from "../state/views.ts";
import { Icon } from "../ui/icon.tsx";
import { Loading, Message, ProblemMessage } from "../ui/states.tsx";
import { CollectionView } from "./collection-view.tsx";

const noDefinition: Definition = {};
const sampleSize = 20;

interface SampledRows {
  readonly rows: readonly Row[];
  readonly rights: Rights;
}

/** Some resources tell which columns there are. The server tells what the caller may do. */
async function loadSample(name: string, signal: AbortSignal): Promise<SampledRows> {
  const path = `/${encodeURIComponent(name)}?limit=${sampleSize}&total=none`;
  const [{ data }, rights] = await Promise.all([
    get<Page<Row>>(path, signal),
    get<Rights>(`/-/access/${encodeURIComponent(name)}`, signal),
  ]);
  return { rows: data, rights };
}

export function CollectionScreen() {
  const { path, params } = route.value;
  const [, name = "", marker, screen] = path;
  const isNew = marker === "-" && screen === "new";
  const sample = useLoad(name, (signal) => loadSample(name, signal));
  const known = findCollection(name);
  const definition = known?.definition ?? noDefinition;
  const query = params.toString();
  const view = useMemo(() => parseView(params), [query]);
  useEffect(() => rememberView(name, params), [name, query]);
  const all = useMemo(
    () => columnsOf(definition, sample.value?.rows ?? []),
    [JSON.stringify(definition), sample.value],
  );
  const columns = useMemo(() => chosenColumns(all, view.fields, isNarrow), [all, view]);
  const { value, problem, reload } = sample;
  if (problem !== undefined && !isNew)
    return (
      <>
        <h1 class="hidden-text">{name}</h1>
        {problem.status === 404 ? (
          <UnknownCollection name={name} />
        ) : (
          <UnreadableCollection {...{ name, problem }} retry={reload} />
        )}
      </>
    );
  if (collections.value === undefined || (value === undefined && problem === undefined))
    return <Loading what={name} />;
  return (
    <CollectionView
      {...{ name, definition, view, all, columns, params, isNew }}
      whole={known?.total}
      rights={value?.rights}
      id={isNew || marker === "-" ? undefined : marker}
    />
  );
}

interface UnreadableProps {
  readonly name: string;
  readonly problem: Problem;
  readonly retry: () => void;
}

/** Who may only create gets no list, and may still fill in the form. */
function UnreadableCollection({ name, problem, retry }: UnreadableProps) {
  const path = `/-/access/${encodeURIComponent(name)}`;
  const { value, isLoading } = useLoad(path, (signal) => get<Rights>(path, signal));
  const mayCreate = problem.status === 403 && value !== undefined && value.create !== false;
  if (isLoading) return <Loading what={name} />;
  if (!mayCreate) return <ProblemMessage problem={problem} retry={retry} />;
  return (
    <Message icon="shield-check" title={`Your token may add to ${name}, and not read it`}>
      <a class="button primary" href={linkTo(screenPath(name, "new"))}>
        <Icon name="plus" />
        New resource
      </a>
    </Message>
  );
}

const UnknownCollection = ({ name }: { name: string }) => (
  <Message icon="database" title={`There is no collection ${name}`} isAlert>
    {isAdmin.value ? (
      <>
        <p>It is made with its first resource.</p>
        <a class="button primary" href={linkTo(screenPath(name, "new"))}>
          <Icon name="plus" />
          Create the first resource
        </a>
      </>
    ) : (
      <p>Check its name, or ask for a token that may read it.</p>
    )}
    <p>
      <a href={linkTo([])}>Go to the overview</a>
    </p>
  </Message>
);
