// A file of the resource in its form: what it is. It is changed among the files.

import type { StoredFile } from "../api/types.ts";
import { formatBytes } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import type { FieldProps } from "./context.ts";
import { isFile } from "./schema.ts";

export function FileField({ label, value, schema }: FieldProps) {
  const files: readonly StoredFile[] = (Array.isArray(value) ? value : [value]).filter(isFile);
  return (
    <div class="field">
      <span class="label">{label}</span>
      <ul class="file-names">
        {files.map(({ url, name, size }) => (
          <li key={url}>
            <Icon name="file" />
            <span dir="auto">{name}</span> <span class="faint">{formatBytes(size)}</span>
          </li>
        ))}
      </ul>
      <p class="help">{schema.description ?? "Replace or remove it under Files."}</p>
    </div>
  );
}
