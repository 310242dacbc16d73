// A list: it sorts by a click on a column, has pages, and lets a person choose rows.

import type { BaseRecord, useTableReturnType } from "@refinedev/core";
import { type ReactNode, useState } from "react";

export interface Column<T> {
  readonly field: string;
  readonly label: string;
  readonly show: (record: T) => ReactNode;
}

interface TableProps<T extends BaseRecord> {
  readonly table: useTableReturnType<T>;
  readonly columns: readonly Column<T>[];
  /** Buttons for the chosen rows. */
  readonly actions: (ids: string[], onDone: () => void) => ReactNode;
}

export function Table<T extends BaseRecord>({ table, columns, actions }: TableProps<T>) {
  const { result, sorters, setSorters, currentPage, setCurrentPage, pageCount } = table;
  const [chosen, setChosen] = useState<string[]>([]);
  const [sorter] = sorters;
  const sort = (field: string) => {
    const isAscending = sorter?.field === field && sorter.order === "asc";
    setSorters([{ field, order: isAscending ? "desc" : "asc" }]);
  };
  const toggle = (id: string) =>
    setChosen(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]);
  return (
    <>
      <table>
        <thead>
          <tr>
            <th />
            {columns.map(({ field, label }) => (
              <th key={field}>
                <button type="button" onClick={() => sort(field)}>
                  {label}
                  {sorter?.field === field && (sorter.order === "asc" ? " ↑" : " ↓")}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {result.data.map((record) => (
            <tr key={record.id}>
              <td>
                <input
                  type="checkbox"
                  aria-label={`Choose ${record.name ?? record.id}`}
                  checked={chosen.includes(`${record.id}`)}
                  onChange={() => toggle(`${record.id}`)}
                />
              </td>
              {columns.map(({ field, show }) => (
                <td key={field} data-field={field}>
                  {show(record)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p className="bar">
        <button
          type="button"
          disabled={currentPage <= 1}
          onClick={() => setCurrentPage(currentPage - 1)}
        >
          Previous
        </button>
        <span>
          Page {currentPage} of {pageCount}, {result.total} in all
        </span>
        <button
          type="button"
          disabled={currentPage >= pageCount}
          onClick={() => setCurrentPage(currentPage + 1)}
        >
          Next
        </button>
        {chosen.length > 0 && actions(chosen, () => setChosen([]))}
      </p>
    </>
  );
}
