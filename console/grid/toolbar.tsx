// What stands above the grid: the name of the collection, search, columns, export, and a new resource.

import { useEffect, useRef, useState } from "preact/hooks";
import { linkTo, screenPath } from "../state/router.ts";
import { copyText } from "../ui/clipboard.ts";
import { countText } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { Menu } from "../ui/menu.tsx";
import { ColumnChooser } from "./column-chooser.tsx";
import type { Column } from "./columns.ts";
import type { View } from "./view.ts";

interface ToolbarProps {
  readonly collection: string;
  readonly description: string | undefined;
  readonly all: readonly Column[];
  readonly shown: readonly Column[];
  readonly view: View;
  readonly params: URLSearchParams;
  readonly isSearchable: boolean;
  readonly mayCreate: boolean;
  /** How many match; undefined when nobody has counted them. */
  readonly total: number | undefined;
  readonly onChange: (change: Partial<View>) => void;
  readonly onExport: (format: ExportFormat) => void;
}

export type ExportFormat = "csv" | "ndjson";

export const exportFormats: readonly (readonly [ExportFormat, string])[] = [
  ["csv", "CSV, for spreadsheets"],
  ["ndjson", "JSON lines, for programs"],
];

export const copyLink = (): void => void copyText(location.href, "the link to this view");

export function Toolbar(props: ToolbarProps) {
  const { collection, view, total, onChange, onExport } = props;
  const count = total === undefined ? "all that match" : countText(total);
  return (
    <div class="grid-toolbar">
      <div class="grid-title">
        <h1>{collection}</h1>
        {props.description && <p class="faint">{props.description}</p>}
      </div>
      {props.isSearchable && <SearchBox text={view.q} onSearch={(q) => onChange({ q })} />}
      <ColumnChooser
        all={props.all}
        shown={props.shown}
        onChange={(fields) => onChange({ fields })}
      />
      <Menu
        label="Export"
        icon="download"
        items={[
          ...exportFormats.map(([format, name]) => ({
            label: `Export ${count} as ${name}`,
            icon: "download" as const,
            run: () => onExport(format),
          })),
          { label: "Copy link to this view", icon: "link", run: copyLink },
        ]}
      />
      {props.mayCreate && (
        <a class="button primary" href={linkTo(screenPath(collection, "new"), props.params)}>
          <Icon name="plus" />
          New resource
        </a>
      )}
    </div>
  );
}

const typingMs = 250;

function SearchBox({ text, onSearch }: { text: string; onSearch: (text: string) => void }) {
  const [draft, setDraft] = useState(text);
  const sent = useRef(text);
  useEffect(() => {
    if (text !== sent.current) setDraft(text);
    sent.current = text;
  }, [text]);
  useEffect(() => {
    if (draft.trim() === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = draft.trim();
      onSearch(draft.trim());
    }, typingMs);
    return () => clearTimeout(timer);
  }, [draft]);
  return (
    <input
      type="search"
      class="grid-search"
      aria-label="Search"
      placeholder="Search"
      value={draft}
      onInput={(event) => setDraft(event.currentTarget.value)}
    />
  );
}
