// The columns of a file with their first values, and the field that each becomes.

import { ScrollBox } from "../ui/scroll-box.tsx";
import type { Source } from "./file.ts";
import type { Mapping } from "./mapping.ts";

interface MappingTableProps {
  readonly source: Source;
  readonly mapping: Mapping;
  /** The fields of the schema, as suggestions. */
  readonly fields: readonly string[];
  readonly onChange: (mapping: Mapping) => void;
}

export function MappingTable({ source, mapping, fields, onChange }: MappingTableProps) {
  const set = (column: string, field: string | undefined): void =>
    onChange(new Map([...mapping, [column, field]]));
  return (
    <ScrollBox label="Columns">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Import</th>
            <th scope="col">Column of the file</th>
            <th scope="col">Field</th>
            <th scope="col">First values</th>
          </tr>
        </thead>
        <tbody>
          {source.columns.map((column, index) => {
            const field = mapping.get(column);
            return (
              <tr key={column}>
                <td>
                  <input
                    type="checkbox"
                    aria-label={`Import ${column}`}
                    checked={field !== undefined}
                    onChange={(event) =>
                      set(column, event.currentTarget.checked ? column : undefined)
                    }
                  />
                </td>
                <th scope="row">{column}</th>
                <td>
                  <input
                    type="text"
                    aria-label={`Field for ${column}`}
                    list="import-fields"
                    value={field ?? ""}
                    disabled={field === undefined}
                    onInput={(event) => set(column, event.currentTarget.value)}
                  />
                </td>
                <td class="samples">
                  {source.preview.map((row, at) => (
                    <span key={at}>{row[index] ?? ""}</span>
                  ))}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <datalist id="import-fields">
        {fields.map((field) => (
          <option key={field} value={field} />
        ))}
      </datalist>
    </ScrollBox>
  );
}
