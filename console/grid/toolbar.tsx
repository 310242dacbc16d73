// What stands above the grid: the name of the collection, search, columns, export, and a new resource.

import { useEffect, useRef, useState } from "preact/hooks";
import { isAdmin } from "../state/collections.ts";
import { linkTo, screenPath } from "../state/router.ts";
import { copyText } from "../ui/clipboard.ts";
import { countText } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { Menu } from "../ui/menu.tsx";
import { ColumnChooser } from "./column-chooser.tsx";
import type { Column } from "./columns.ts";
import { searchOf, searchText, type View } from "./view.ts";

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
  /** With `isReplaced` the browser's Back skips the former view. */
  readonly onChange: (change: Partial<View>, isReplaced?: boolean) => void;
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
      {props.isSearchable ? (
        <SearchBox text={view.q} onSearch={(q) => onChange({ q }, view.q !== "")} />
      ) : (
        <NoSearch collection={collection} />
      )}
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
          <span class="button-text">New resource</span>
        </a>
      )}
    </div>
  );
}

const typingMs = 250;

interface SearchBoxProps {
  readonly text: string;
  readonly onSearch: (text: string) => void;
}

function SearchBox({ text, onSearch }: SearchBoxProps) {
  const [draft, setDraft] = useState(() => searchText(text));
  const sent = useRef(text);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    if (text !== sent.current) setDraft(searchText(text));
    sent.current = text;
  }, [text]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const search = (q: string): void => {
    if (q !== sent.current) onSearch(q);
    sent.current = q;
  };
  return (
    <input
      type="search"
      class="grid-search"
      aria-label="Search"
      placeholder="Search"
      value={draft}
      onInput={({ currentTarget: { value } }) => {
        setDraft(value);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => search(searchOf(value)), typingMs);
      }}
    />
  );
}

/** Stands where the search box would be. */
const NoSearch = ({ collection }: { collection: string }) => (
  <p class="no-search faint">
    No field can be searched.{" "}
    {isAdmin.value && <a href={linkTo(screenPath(collection, "definition"))}>Choose some</a>}
  </p>
);
