// The headers of the grid: a click sorts, dragging the edge changes the width.

import { Component } from "preact";
import type { IconName } from "../ui/icon.tsx";
import { Icon } from "../ui/icon.tsx";
import type { Column } from "./columns.ts";
import { cellId } from "./row.tsx";
import type { SortKey } from "./view.ts";

export type Selected = "all" | "some" | "none";

export interface HeaderActions {
  readonly onSelectAll: () => Promise<void>;
  readonly onSort: (column: number, isAdded: boolean) => void;
  readonly onWidth: (column: number, width: number) => void;
}

interface HeaderProps {
  readonly columns: readonly Column[];
  readonly sort: readonly SortKey[];
  readonly activeColumn: number | undefined;
  readonly selected: Selected;
  readonly actions: HeaderActions;
}

/** It is not rendered again while rows scroll. */
export class GridHeader extends Component<HeaderProps> {
  override shouldComponentUpdate(next: HeaderProps): boolean {
    const names = Object.keys(next) as (keyof HeaderProps)[];
    return names.some((name) => next[name] !== this.props[name]);
  }

  override render(props: HeaderProps) {
    const { columns, activeColumn, selected, actions } = props;
    return (
      <div role="row" class="grid-row grid-head" aria-rowindex={1}>
        <div
          role="columnheader"
          id={cellId(-1, 0)}
          class="cell check-cell"
          aria-colindex={1}
          data-active={activeColumn === 0 || undefined}
          onClick={() => void actions.onSelectAll().then(() => this.forceUpdate())}
        >
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label="Select all"
            checked={selected === "all"}
            indeterminate={selected === "some"}
          />
        </div>
        {columns.map((column, at) => (
          <HeaderCell key={column.path} {...props} column={column} at={at + 1} />
        ))}
      </div>
    );
  }
}

type HeaderCellProps = HeaderProps & { readonly column: Column; readonly at: number };

const words = { ascending: "arrow-up", descending: "arrow-down" } as const satisfies Record<
  string,
  IconName
>;

function HeaderCell({ column, at, sort, activeColumn, actions }: HeaderCellProps) {
  const place = sort.findIndex(({ path }) => path === column.path);
  const key = sort[place];
  const order = key && (key.isDescending ? "descending" : "ascending");
  const isSortable = column.kind !== "object" && column.kind !== "array";
  return (
    <div
      role="columnheader"
      id={cellId(-1, at)}
      class={column.kind === "number" ? "cell number" : "cell"}
      aria-colindex={at + 1}
      aria-sort={order}
      data-active={activeColumn === at || undefined}
      data-sortable={isSortable || undefined}
      title={isSortable ? `${column.path}\nClick to sort, with Shift to add` : column.path}
      onClick={(event) => isSortable && actions.onSort(at, event.shiftKey)}
    >
      <span class="cell-text">{column.label}</span>
      {order && <Icon name={words[order]} />}
      {order && sort.length > 1 && <span class="sort-place">{place + 1}</span>}
      <span
        class="width-grip"
        onClick={(event) => event.stopPropagation()}
        onPointerDown={(event) => dragWidth(event, (width) => actions.onWidth(at, width))}
      />
    </div>
  );
}

function dragWidth(event: PointerEvent, onWidth: (width: number) => void): void {
  const grip = event.currentTarget as HTMLElement;
  const cell = grip.parentElement as HTMLElement;
  const sign = getComputedStyle(cell).direction === "rtl" ? -1 : 1;
  const { width } = cell.getBoundingClientRect();
  event.preventDefault();
  grip.setPointerCapture(event.pointerId);
  const move = (at: PointerEvent): void => onWidth(width + sign * (at.clientX - event.clientX));
  grip.addEventListener("pointermove", move);
  grip.addEventListener("lostpointercapture", () => grip.removeEventListener("pointermove", move), {
    once: true,
  });
}
