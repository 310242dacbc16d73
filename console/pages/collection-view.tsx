// The grid of a collection with everything around it, and the panel of a resource.

import { useEffect, useMemo } from "preact/hooks";
import { get } from "../api/client.ts";
import type { Json } from "../api/json.ts";
import { fieldsOf } from "../api/patch.ts";
import type { Definition, Page, Rights } from "../api/types.ts";
import type { Target } from "../grid/batch.ts";
import { SelectionBar } from "../grid/bulk.tsx";
import { FailureList } from "../grid/bulk-report.tsx";
import type { Column, Row } from "../grid/columns.ts";
import { exportList } from "../grid/export.ts";
import { FilterBar } from "../grid/filter-bar.tsx";
import { useArrival, useReturn } from "../grid/focus.ts";
import { Grid } from "../grid/grid.tsx";
import { exportRequest, listPath, referencesIn } from "../grid/list.ts";
import { useLive } from "../grid/live.ts";
import { filterFields } from "../grid/operators.ts";
import { patchAt, valueAt, withValueAt } from "../grid/paths.ts";
import { readMatches } from "../grid/read-matches.ts";
import { Selection } from "../grid/selection.ts";
import { StatusLine } from "../grid/status.tsx";
import { copyLink, type ExportFormat, exportFormats, Toolbar } from "../grid/toolbar.tsx";
import { type ShownList, useList } from "../grid/use-list.ts";
import { isFiltered, queryParams, toggleSort, type View, viewParams } from "../grid/view.ts";
import { isConflict, openConflict, saveFields, tellSaved } from "../state/changes.ts";
import { useCommands } from "../state/commands.ts";
import { useCurrentRequest } from "../state/current-request.ts";
import { tellFailure } from "../state/notices.ts";
import { collectionPath, goTo, linkTo, resourcePath, route, screenPath } from "../state/router.ts";
import { openPopover } from "../ui/menu.tsx";
import { Split } from "../ui/split.tsx";
import { EmptyList } from "./empty-list.tsx";
import { ResourcePanel } from "./resource-panel.tsx";

export interface CollectionViewProps {
  readonly name: string;
  readonly definition: Definition;
  readonly view: View;
  readonly all: readonly Column[];
  readonly columns: readonly Column[];
  readonly params: URLSearchParams;
  readonly whole: number | undefined;
  /** Undefined when the collection is not there yet. */
  readonly rights: Rights | undefined;
  readonly id: string | undefined;
  readonly isNew: boolean;
}

export function CollectionView(props: CollectionViewProps) {
  const { name, view, columns, params, id, isNew } = props;
  const list = useList(name, view, columns);
  const selection = useMemo(() => new Selection(), []);
  const isPanelOpen = isNew || id !== undefined;
  useLive(list.state);
  useReturn(list.state, isPanelOpen, id);
  useArrival(list.state, isPanelOpen);
  const close = (): void => goTo(linkTo(collectionPath(name), params));
  return (
    <Split
      side={
        isPanelOpen && (
          <ResourcePanel
            collection={name}
            id={id}
            onClose={close}
            {...neighbours(list, name, id, params)}
          />
        )
      }
    >
      {!isPanelOpen && <ListRequest path={listPath(name, view, referencesIn(columns), 0)} />}
      <ListPart {...props} list={list} selection={selection} />
      <FailureList />
    </Split>
  );
}

/** While the panel is open, "Copy as" gives its request. */
function ListRequest({ path }: { path: string }) {
  useCurrentRequest({ method: "GET", path });
  return null;
}

/** The resources before and after the open one, as the grid shows them. */
function neighbours(
  { state: { cache } }: ShownList,
  name: string,
  id: string | undefined,
  params: URLSearchParams,
) {
  // Its place is known when its page is there.
  if (id !== undefined) void cache.version.value;
  const index = id === undefined ? undefined : cache.latest && cache.indexOf(id);
  if (index === undefined) return {};
  const open = async (at: number): Promise<void> => {
    const row = await cache.fetchRow(at);
    if (row) goTo(linkTo(resourcePath(name, row.id), params));
  };
  return {
    ...(index > 0 && { onPrevious: () => void open(index - 1) }),
    ...(index + 1 < cache.rowCount && { onNext: () => void open(index + 1) }),
  };
}

interface ListPartProps extends CollectionViewProps {
  readonly list: ShownList;
  readonly selection: Selection;
}

function ListPart(props: ListPartProps) {
  const { name, definition, view, all, columns, params, rights, id, list, selection } = props;
  const { state } = list;
  const { cache } = state;
  const { latest, problem } = cache;
  const change = (next: Partial<View>, isReplaced = false): void => {
    goTo(linkTo(route.peek().path, viewParams({ ...view, ...next })), isReplaced);
  };
  const save = (format: ExportFormat): void => {
    const type = format === "csv" ? "text/csv" : "application/x-ndjson";
    const request = exportRequest(name, view, columns, type);
    void exportList(request, `${name}.${format}`, latest?.total);
  };
  const isSearchable = (definition.searchable ?? []).length > 0;
  const mayCreate = rights === undefined || rights.create !== false;
  useListCommands(name, params, mayCreate, isSearchable, save);
  useEffect(() => {
    // Other resources match now.
    if (selection.except.peek() !== undefined) selection.clear();
  }, [list.query]);
  const rows = [...selection.rows.value.values()];
  const isAll = selection.except.value !== undefined;
  const isEmpty = latest !== undefined && cache.rowCount === 0;
  return (
    <section class="list-part" aria-label={`Resources of ${name}`}>
      <div class="list-head">
        <Toolbar
          collection={name}
          description={definition.description}
          {...{ all, view, params, isSearchable, mayCreate }}
          shown={columns}
          total={cache.total}
          onChange={change}
          onExport={save}
        />
        <FilterBar
          view={view}
          fields={useMemo(() => filterFields(definition, all), [all])}
          problem={problem}
          onChange={change}
        />
      </div>
      {problem !== undefined || isEmpty ? (
        <EmptyList
          {...{ name, problem, mayCreate, params }}
          view={list.view}
          searched={(definition.searchable ?? []).map((one) =>
            typeof one === "string" ? one : one.field,
          )}
          onClearSearch={() => change({ q: "" })}
          onClear={() =>
            change({ filters: [], where: undefined, q: "", sort: [], fields: undefined })
          }
          onRetry={() => void cache.refresh().catch(() => {})}
        />
      ) : (
        <Grid
          collection={name}
          state={state}
          columns={list.columns}
          widths={view.widths}
          sort={list.view.sort}
          selection={selection}
          openId={id}
          locked={rights?.update === false ? "Your token may not change it." : undefined}
          params={params}
          onOpen={(row) => goTo(linkTo(resourcePath(name, row.id), params))}
          onFollow={follow}
          onSave={(row, column, value) => saveCell(name, list, row, column, value)}
          onSort={({ path }, isAdded) => change({ sort: toggleSort(view.sort, path, isAdded) })}
          onWidth={({ path }, width) => change({ widths: { ...view.widths, [path]: width } }, true)}
          onSelectAll={() => selectAll(name, list, selection)}
        />
      )}
      {(isAll || rows.length > 0) && (
        <SelectionBar
          collection={name}
          {...{ selection, columns }}
          count={selection.countIn(cache.total)}
          rows={isAll ? undefined : () => currentRows(list, rows)}
          targets={() => targetsOf(name, list, selection, rows)}
          mayUpdate={rights?.update !== false}
          mayDelete={rights?.delete !== false}
        />
      )}
      <StatusLine
        collection={name}
        page={problem === undefined ? latest : undefined}
        total={cache.total}
        isLoading={list.isLoading && problem === undefined}
        whole={props.whole}
        isFiltered={isFiltered(list.view)}
      />
    </section>
  );
}

function useListCommands(
  name: string,
  params: URLSearchParams,
  mayCreate: boolean,
  isSearchable: boolean,
  save: (format: ExportFormat) => void,
): void {
  const create = (): void => goTo(linkTo(screenPath(name, "new"), params));
  useCommands(
    [
      ...(mayCreate ? [{ label: "New resource", key: "n", run: create }] : []),
      ...(isSearchable ? [{ label: "Search in this list", key: "/", run: focusSearch }] : []),
      { label: "Add a filter", key: "f", run: () => openPopover("filter") },
      { label: "Choose columns", key: "c", run: () => openPopover("columns") },
      ...exportFormats.map(([format, label]) => ({
        label: `Export as ${label}`,
        run: () => save(format),
      })),
      { label: "Copy link to this view", run: copyLink },
    ],
    `${name} ${params} ${mayCreate} ${isSearchable}`,
  );
}

const focusSearch = (): void => document.querySelector<HTMLElement>(".grid-search")?.focus();

function follow(row: Row, column: Column): void {
  const value = valueAt(row, column.path);
  if (column.refersTo !== undefined && typeof value === "string")
    goTo(linkTo(resourcePath(column.refersTo, value)));
}

/** A conflict opens the dialog in which both versions stand side by side. */
async function saveCell(
  name: string,
  { state: { cache } }: ShownList,
  row: Row,
  column: Column,
  value: Json,
): Promise<void> {
  const patch = patchAt(column.path, value);
  try {
    const saved = await saveFields(name, row.id, row._etag, patch);
    cache.replace({ ...saved.body, _etag: saved.etag });
    const former = withValueAt(fieldsOf(saved.body), column.path, valueAt(row, column.path));
    tellSaved(name, row.id, { body: former, etag: row._etag }, saved);
  } catch (error) {
    if (!isConflict(error)) throw error;
    const { _etag, _expanded, ...base } = row;
    const mine = { ...base, ...patch };
    await openConflict({ collection: name, id: row.id, base, mine, onSaved: () => {} });
  }
}

/** So many are read at once, and can be copied. */
const mostRead = 1_000;

/** All that match; none, when all are selected. */
async function selectAll(name: string, list: ShownList, selection: Selection): Promise<void> {
  const { total, rowCount } = list.state.cache;
  const isWhole = selection.except.peek() !== undefined || selection.rows.peek().size >= rowCount;
  if (isWhole) return selection.clear();
  if (total === undefined || total > mostRead) return selection.addAll();
  const params = queryParams(list.view);
  params.set("fields", [...(list.view.fields ?? ["*"]), "_etag"].join(","));
  params.set("limit", String(mostRead));
  try {
    selection.add((await get<Page<Row>>(`/${name}?${params}`)).data);
  } catch (error) {
    tellFailure(error);
  }
}

const currentRows = ({ state: { cache } }: ShownList, rows: readonly Row[]): readonly Row[] =>
  rows.map((row) => cache.find(row.id) ?? row);

async function targetsOf(
  name: string,
  list: ShownList,
  { except }: Selection,
  rows: readonly Row[],
): Promise<readonly Target[] | undefined> {
  const others = except.peek();
  if (others === undefined) return currentRows(list, rows);
  return readMatches(name, list.view, others, list.state.cache.total);
}
