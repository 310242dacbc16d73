// A row of the grid. Its elements stay while rows scroll through it, and only what is another is changed.

import { Component, createElement } from "preact";
import type { Json } from "../api/json.ts";
import { linkTo, resourcePath } from "../state/router.ts";
import { titleOf } from "../state/titles.ts";
import { Icon } from "../ui/icon.tsx";
import { type CellText, cellText } from "./cell.ts";
import { CellEditor } from "./cell-editor.tsx";
import type { Column, Row } from "./columns.ts";
import { lockOf } from "./edit.ts";
import { valueAt } from "./paths.ts";
import { Thumbnail } from "./thumbnail.tsx";

/** What rows ask of the grid. It is the same object for all of them, so that none is rendered in vain. */
export interface RowActions {
  readonly collection: string;
  readonly params: () => URLSearchParams;
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

  override render(props: RowProps) {
    const { row, index, columns, editedColumn, isSelected, isDeleted, isOpen } = props;
    return (
      <div
        role="row"
        class="grid-row"
        aria-rowindex={index + 2}
        aria-selected={isSelected}
        aria-busy={row === undefined || undefined}
        data-deleted={isDeleted || undefined}
        data-open={isOpen || undefined}
        data-edited={editedColumn !== undefined || undefined}
      >
        {checkCell(props)}
        {columns.map((column, at) => dataCell(props, column, at + 1))}
      </div>
    );
  }
}

/** Only the active cell is referred to. */
const activeMarks = ({ index, row, activeColumn }: RowProps, at: number) => ({
  id: activeColumn === at && row !== undefined ? cellId(index, at) : undefined,
  "data-active": activeColumn === at || undefined,
});

const checkCell = (props: RowProps) => (
  <div role="gridcell" class="cell check-cell" aria-colindex={1} {...activeMarks(props, 0)}>
    <input
      type="checkbox"
      tabIndex={-1}
      aria-label={props.row === undefined ? "Loading" : `Select ${titleOf(props.row)}`}
      disabled={props.row === undefined}
      checked={props.isSelected}
    />
  </div>
);

function dataCell(props: RowProps, column: Column, at: number) {
  const { row, editedColumn } = props;
  const lock = row && lockOf(row, column);
  const isEdited = editedColumn === at && row !== undefined;
  return (
    <div
      key={column.path}
      role="gridcell"
      class={column.kind === "number" ? "cell number" : "cell"}
      aria-colindex={at + 1}
      aria-readonly={lock !== undefined || undefined}
      data-edited={isEdited || undefined}
      {...activeMarks(props, at)}
    >
      {isEdited ? editorOf(props, row, column) : contentOf(props, column, at === 1, lock)}
    </div>
  );
}

const editorOf = ({ actions }: RowProps, row: Row, column: Column) => (
  <CellEditor
    column={column}
    value={valueAt(row, column.path)}
    onSave={(value) => actions.onSave(row, column, value)}
    onLeave={actions.onLeave}
  />
);

const noText: CellText = { text: "" };

/** The first column opens the resource. The element of a column is always of the same kind. */
function contentOf(props: RowProps, column: Column, isFirst: boolean, lock: string | undefined) {
  const { row, actions } = props;
  const cell = row ? cellText(actions.collection, row, column) : noText;
  const { text, look, hint, href } = cell;
  const isLink = isFirst || column.refersTo !== undefined;
  const isTitle = isFirst && column.refersTo === undefined;
  const name = isTitle ? "cell-text row-link" : "cell-text";
  return createElement(
    isLink ? "a" : "span",
    {
      class: look === undefined ? name : `${name} ${look}`,
      title: hint === undefined || lock === undefined ? (hint ?? lock) : `${hint}\n${lock}`,
      ...(isLink && { tabIndex: -1, href: isTitle ? hrefOf(props) : href }),
    },
    signOf(cell),
    text,
  );
}

/** What stands before the text. */
function signOf({ icon, picture }: CellText) {
  if (picture !== undefined) return <Thumbnail {...picture} />;
  return icon === undefined ? null : <Icon name={icon} />;
}

const hrefOf = ({ row, actions }: RowProps): string | undefined =>
  row && linkTo(resourcePath(actions.collection, row.id), actions.params());
