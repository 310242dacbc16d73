// Chooses the columns and their order.

import { Button, IconButton } from "../ui/button.tsx";
import { Popover } from "../ui/menu.tsx";
import type { Column } from "./columns.ts";

interface ColumnChooserProps {
  readonly all: readonly Column[];
  readonly shown: readonly Column[];
  /** Undefined for the columns that the console chooses. */
  readonly onChange: (paths: readonly string[] | undefined) => void;
}

/** Some names cannot stand in the parameter `fields`. */
const isNameable = ({ path }: Column): boolean => path !== "" && !/[,*]/.test(path);

export function ColumnChooser({ all, shown, onChange }: ColumnChooserProps) {
  const paths = shown.filter(isNameable).map(({ path }) => path);
  const hidden = all.filter((column) => isNameable(column) && !paths.includes(column.path));
  const move = (index: number, step: number): void => {
    const next = [...paths];
    const [path = ""] = next.splice(index, 1);
    next.splice(index + step, 0, path);
    onChange(next);
  };
  return (
    <Popover label="Columns" icon="table" name="columns">
      <ul class="column-list" aria-label="Columns">
        {shown.filter(isNameable).map((column, index) => (
          <li key={column.path}>
            <ColumnCheck
              column={column}
              isShown
              isDisabled={paths.length === 1}
              onToggle={() => onChange(paths.filter((path) => path !== column.path))}
            />
            <IconButton
              icon="arrow-up"
              label={`Move ${column.label} forward`}
              isDisabled={index === 0}
              onClick={() => move(index, -1)}
            />
            <IconButton
              icon="arrow-down"
              label={`Move ${column.label} back`}
              isDisabled={index === paths.length - 1}
              onClick={() => move(index, 1)}
            />
          </li>
        ))}
        {hidden.map((column) => (
          <li key={column.path}>
            <ColumnCheck
              column={column}
              isShown={false}
              onToggle={() => onChange([...paths, column.path])}
            />
          </li>
        ))}
      </ul>
      <Button kind="quiet" onClick={() => onChange(undefined)}>
        Show the usual columns
      </Button>
    </Popover>
  );
}

interface ColumnCheckProps {
  readonly column: Column;
  readonly isShown: boolean;
  readonly isDisabled?: boolean;
  readonly onToggle: () => void;
}

const ColumnCheck = ({ column, isShown, isDisabled = false, onToggle }: ColumnCheckProps) => (
  <label class="check">
    <input type="checkbox" checked={isShown} disabled={isDisabled} onChange={onToggle} />
    <span class="name" title={column.path}>
      {column.label}
    </span>
  </label>
);
