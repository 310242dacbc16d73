// A table of any length: only the rows in view are in the document, and the browser's scroll bar moves through them.

import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Json } from "../api/json.ts";
import { heldDeletions } from "../state/changes.ts";
import { clickGrid, placeIn, startEdit } from "./click.ts";
import type { Column, Row } from "./columns.ts";
import type { GridState } from "./grid-state.ts";
import { GridHeader, type HeaderActions, type Selected } from "./header.tsx";
import { type GridKeys, pressKey } from "./keys.ts";
import { isNarrow } from "./narrow.ts";
import { cellId, GridRow, type RowActions } from "./row.tsx";
import { rowHeight } from "./scroll.ts";
import type { Selection } from "./selection.ts";
import { narrowest, type SortKey, widest } from "./view.ts";

export interface GridProps {
  readonly collection: string;
  readonly state: GridState;
  readonly columns: readonly Column[];
  readonly widths: Readonly<Record<string, number>>;
  readonly sort: readonly SortKey[];
  readonly selection: Selection;
  /** The resource in the panel. */
  readonly openId: string | undefined;
  /** Why nothing can be edited, if so. */
  readonly locked: string | undefined;
  readonly params: URLSearchParams;
  readonly onOpen: (row: Row, path?: string) => void;
  readonly onFollow: (row: Row, column: Column) => void;
  readonly onSave: (row: Row, column: Column, value: Json) => Promise<void>;
  readonly onSort: (column: Column, isAdded: boolean) => void;
  readonly onWidth: (column: Column, width: number) => void;
  readonly onSelectAll: () => Promise<void>;
}

const checkWidth = isNarrow ? 44 : 40;
const usualWidths: Partial<Record<Column["kind"], number>> = {
  ...{ number: isNarrow ? 90 : 110, boolean: 100, date: 130, time: 200, choice: 120 },
};

const usualWidth = isNarrow ? 150 : 190;
const letterWidth = 8.5;

/** Wide enough for its header, unless that is long. */
function widthOf({ path, kind, label }: Column, widths: GridProps["widths"]): number {
  const chosen = Object.hasOwn(widths, path) ? widths[path] : undefined;
  const header = Math.min(Math.ceil(label.length * letterWidth) + 40, usualWidth);
  return chosen ?? Math.max(usualWidths[kind] ?? usualWidth, header);
}

export function Grid(props: GridProps) {
  const { state, columns, widths, sort, selection } = props;
  const { cache } = state;
  const scroller = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const keys = useMemo(() => keysOf(latest), []);
  const actions = useMemo(() => actionsOf(latest), [props.collection]);
  const headerActions = useMemo(() => headerActionsOf(latest, keys), []);
  useSize(scroller, body, state);
  // What is read here renders the grid again.
  const { row: activeRow, column: activeColumn } = state.active.value;
  const first = state.first.value;
  const edited = state.editing.value;
  const { end, scrollHeight } = state;
  const slotOf = useSlots(first, state.mostRendered);
  void cache.version.value;
  useLayoutEffect(() => state.rendered());
  useLayoutEffect(() => state.grown(), [state, cache.rowCount]);
  const sizes = columns.map((column) => widthOf(column, widths));
  const template = sizes.map((width, at) =>
    at === sizes.length - 1 ? lastTrack(columns[at], width) : `${width}px`,
  );
  const isActiveShown = activeRow < 0 || (activeRow >= first && activeRow < end);
  const rows = Array.from({ length: Math.max(end - first, 0) }, (_, index) => first + index);
  const held = heldDeletions.value;
  return (
    <div
      ref={scroller}
      role="grid"
      class="grid"
      tabIndex={0}
      data-locked={props.locked && true}
      style={{
        scrollPaddingInlineStart: `${checkWidth + (sizes[0] ?? 0)}px`,
        "--check": `${checkWidth}px`,
        "--row": `${rowHeight}px`,
      }}
      aria-label={props.collection}
      aria-multiselectable="true"
      aria-rowcount={cache.total === undefined ? -1 : cache.total + 1}
      aria-colcount={columns.length + 1}
      aria-activedescendant={isActiveShown ? cellId(activeRow, activeColumn) : undefined}
      onWheel={() => state.wheeled()}
      onScroll={() => state.scrolled()}
      onScrollEnd={() => state.settled()}
      onKeyDown={(event) => {
        if (event.target !== scroller.current) return;
        state.openSoon(undefined);
        if (pressKey(event, state, { ...keys, columns: columns.length })) {
          event.preventDefault();
          event.stopPropagation();
        }
      }}
    >
      <div
        class="grid-space"
        style={{
          height: `${scrollHeight + rowHeight}px`,
          width: `${checkWidth + sizes.reduce((sum, width) => sum + width, 0)}px`,
          "--columns": `${checkWidth}px ${template.join(" ")}`,
        }}
      >
        <div class="grid-layer" style={{ height: `${state.height.value + rowHeight}px` }}>
          <div role="rowgroup" class="grid-top">
            <GridHeader
              columns={columns}
              sort={sort}
              activeColumn={activeRow < 0 ? activeColumn : undefined}
              selected={selectedOf(cache.rowCount, selection)}
              actions={headerActions}
            />
          </div>
          <div
            role="rowgroup"
            ref={body}
            class="grid-body"
            onClick={(event) => clickGrid(props, event, keys.onSelect)}
            onDblClick={(event) => {
              const place = placeIn(event, state);
              if (place && place.column > 0) keys.onEdit(place.row, place.column);
            }}
          >
            {rows.map((index) => {
              const row = cache.rowAt(index);
              const isHeld = row !== undefined && held.has(`${props.collection}/${row.id}`);
              return (
                <GridRow
                  key={slotOf(index)}
                  index={index}
                  row={row}
                  columns={columns}
                  actions={actions}
                  activeColumn={index === activeRow ? activeColumn : undefined}
                  editedColumn={edited?.row === index ? edited.column : undefined}
                  isSelected={row !== undefined && selection.has(row.id)}
                  isDeleted={isHeld}
                  isOpen={row !== undefined && row.id === props.openId}
                />
              );
            })}
          </div>
        </div>
      </div>
    </div>
  );
}

/** The last column takes what is left, but a number stays near the others. */
const lastTrack = (column: Column | undefined, width: number): string =>
  column?.kind === "number" ? `${width}px 1fr` : `minmax(${width}px, 1fr)`;

type Latest = { readonly current: GridProps };

function selectedOf(count: number, { rows, except }: Selection): Selected {
  const missing = except.value?.size ?? count - rows.value.size;
  if (missing === 0 && count > 0) return "all";
  return except.value === undefined && rows.value.size === 0 ? "none" : "some";
}

function setWidth({ columns, onWidth }: GridProps, at: number, width: number): void {
  const column = columns[at - 1];
  if (column) onWidth(column, Math.round(Math.min(Math.max(width, narrowest), widest)));
}

/** Follows the size of the window and of the panel. */
function useSize(
  scroller: { current: HTMLDivElement | null },
  body: { current: HTMLDivElement | null },
  state: GridState,
): void {
  useLayoutEffect(() => {
    state.attach(scroller.current, body.current);
    return () => state.attach(null, null);
  }, [state]);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      const height = Math.min(element.clientHeight, innerHeight);
      if (height > 0) state.resize(height - rowHeight);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [state]);
}

/** The functions read the latest properties, so that they never change. */
function keysOf(latest: Latest): Omit<GridKeys, "columns"> {
  const rowAt = (index: number): Row | undefined => latest.current.state.cache.rowAt(index);
  const columnAt = (at: number): Column | undefined => latest.current.columns[at - 1];
  return {
    onOpen: (index) => {
      const row = rowAt(index);
      if (row) latest.current.onOpen(row);
    },
    onSelect: (index, isRange) => select(latest.current, index, isRange),
    onSelectAll: () => void latest.current.onSelectAll(),
    onEdit: (index, at) => startEdit(latest.current, index, at),
    onSort: (at, isAdded) => {
      const column = columnAt(at);
      if (column) latest.current.onSort(column, isAdded);
    },
    onWiden: (at, step) => {
      const column = columnAt(at);
      if (column) setWidth(latest.current, at, widthOf(column, latest.current.widths) + step);
    },
    onFollow: (index, at) => {
      const row = rowAt(index);
      const column = columnAt(at);
      if (row && column) latest.current.onFollow(row, column);
    },
  };
}

const headerActionsOf = (latest: Latest, keys: Omit<GridKeys, "columns">): HeaderActions => ({
  onSelectAll: () => latest.current.onSelectAll(),
  onSort: keys.onSort,
  onWidth: (at, width) => setWidth(latest.current, at, width),
});

function actionsOf(latest: Latest): RowActions {
  return {
    collection: latest.current.collection,
    params: () => latest.current.params,
    onSave: (row, column, value) => latest.current.onSave(row, column, value),
    onLeave: (move) => {
      const { state, columns } = latest.current;
      const { row, column } = state.active.peek();
      state.editing.value = undefined;
      if (move === undefined) return;
      state.focus();
      if (move !== 0) state.activate(row, Math.min(Math.max(column + move, 1), columns.length));
    },
  };
}

/** The elements of a row that scrolled away serve the row that comes. After a jump they stay in their order. */
function useSlots(first: number, count: number): (index: number) => number {
  const former = useRef({ first, count, slot: 0 });
  const moved = first - former.current.first;
  const isFar = Math.abs(moved) >= count || count !== former.current.count;
  const slot = (former.current.slot + (isFar ? 0 : moved) + count) % count;
  former.current = { first, count, slot };
  return (index) => (slot + index - first) % count;
}

function select({ state, selection }: GridProps, index: number, isRange: boolean): void {
  const row = state.cache.rowAt(index);
  if (row === undefined) return;
  if (!isRange) {
    selection.toggle(row, index);
    return;
  }
  const from = Math.min(index, selection.anchor);
  const to = Math.max(index, selection.anchor);
  const rows = Array.from({ length: to - from + 1 }, (_, at) => state.cache.rowAt(from + at));
  selection.add(rows.filter((one) => one !== undefined));
}
