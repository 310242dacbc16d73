// A row of the grid. It is rendered again only when something of it has changed.

import { Component } from "preact";
import type { Json } from "../api/json.ts";
import { linkTo, resourcePath } from "../state/router.ts";
import { titleOf } from "../state/titles.ts";
import { CellContent } from "./cell.tsx";
import { CellEditor } from "./cell-editor.tsx";
import type { Column, Row } from "./columns.ts";
import { lockOf } from "./edit.ts";
import { valueAt } from "./paths.ts";

/** What rows ask of the grid. It is the same object for all of them, so that none is rendered in vain. */
export interface RowActions {
  readonly collection: string;
  readonly params: () => URLSearchParams;
  readonly onCell: (event: MouseEvent, index: number, column: number) => void;
  readonly onOpen: (index: number) => void;
  readonly onEdit: (index: number, column: number) => void;
  /** Returns whether the row is selected now. */
  readonly onCheck: (index: number, isRange: boolean) => boolean;
  readonly onSave: (row: Row, column: Column, value: Json) => Promise<void>;
  readonly onLeave: (move: -1 | 0 | 1 | undefined) => void;
}

export interface RowProps {
  readonly index: number;
  /** Undefined while it loads. */
  readonly row: Row | undefined;
  readonly columns: readonly Column[];
  readonly actions: RowActions;
  readonly activeColumn: number | undefined;
  readonly editedColumn: number | undefined;
  readonly isSelected: boolean;
  readonly isDeleted: boolean;
  /** Whether the panel shows it. */
  readonly isOpen: boolean;
}

export const cellId = (row: number, column: number): string => `cell-${row}-${column}`;

export class GridRow extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const names = Object.keys(next) as (keyof RowProps)[];
    return names.some((name) => next[name] !== this.props[name]);
  }

  override render({ row, index, columns, isSelected, isDeleted, isOpen }: RowProps) {
    return (
      <div
        role="row"
        class="grid-row"
        aria-rowindex={index + 2}
        aria-selected={isSelected}
        aria-busy={row === undefined || undefined}
        data-deleted={isDeleted || undefined}
        data-open={isOpen || undefined}
      >
        {row === undefined ? (
          <PlaceholderCells columns={columns} />
        ) : (
          <>
            <CheckCell {...this.props} row={row} />
            {columns.map((column, at) => (
              <DataCell key={column.path} {...this.props} row={row} column={column} at={at + 1} />
            ))}
          </>
        )}
      </div>
    );
  }
}

const PlaceholderCells = ({ columns }: { columns: readonly Column[] }) => (
  <>
    <div role="gridcell" class="cell check-cell" aria-colindex={1} />
    {columns.map(({ path }, at) => (
      <div key={path} role="gridcell" class="cell" aria-colindex={at + 2}>
        <span class="placeholder" />
      </div>
    ))}
  </>
);

type LoadedProps = RowProps & { readonly row: Row };

function CheckCell({ row, index, actions, activeColumn, isSelected }: LoadedProps) {
  return (
    <div
      role="gridcell"
      id={cellId(index, 0)}
      class="cell check-cell"
      aria-colindex={1}
      data-active={activeColumn === 0 || undefined}
      onClick={(event) => {
        // The browser has ticked the box already, and a range may leave it as it was.
        const box = event.currentTarget.querySelector("input");
        const isTicked = actions.onCheck(index, event.shiftKey);
        if (box) box.checked = isTicked;
      }}
    >
      <input
        type="checkbox"
        tabIndex={-1}
        aria-label={`Select ${titleOf(row)}`}
        checked={isSelected}
      />
    </div>
  );
}

interface DataCellProps extends LoadedProps {
  readonly column: Column;
  readonly at: number;
}

function DataCell({ row, index, column, at, actions, activeColumn, editedColumn }: DataCellProps) {
  const isEdited = editedColumn === at;
  const isNumber = column.kind === "number";
  return (
    <div
      role="gridcell"
      id={cellId(index, at)}
      class={isNumber ? "cell number" : "cell"}
      aria-colindex={at + 1}
      aria-readonly={lockOf(row, column) !== undefined || undefined}
      data-active={activeColumn === at || undefined}
      data-edited={isEdited || undefined}
      onClick={(event) => actions.onCell(event, index, at)}
      onDblClick={() => isEdited || actions.onEdit(index, at)}
    >
      {isEdited ? (
        <CellEditor
          column={column}
          value={valueAt(row, column.path)}
          onSave={(value) => actions.onSave(row, column, value)}
          onLeave={actions.onLeave}
        />
      ) : (
        <CellView row={row} column={column} isFirst={at === 1} actions={actions} />
      )}
    </div>
  );
}

interface CellViewProps {
  readonly row: Row;
  readonly column: Column;
  readonly isFirst: boolean;
  readonly actions: RowActions;
}

/** The first column opens the resource. */
function CellView({ row, column, isFirst, actions }: CellViewProps) {
  const content = <CellContent collection={actions.collection} row={row} column={column} />;
  const lock = lockOf(row, column);
  if (isFirst && column.refersTo === undefined)
    return (
      <a
        class="row-link"
        tabIndex={-1}
        href={linkTo(resourcePath(actions.collection, row.id), actions.params())}
        title={lock}
      >
        {content}
      </a>
    );
  return (
    <span class="cell-text" title={lock}>
      {content}
    </span>
  );
}
