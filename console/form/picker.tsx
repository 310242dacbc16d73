// Finds a resource of a collection by its words, its title or its id.

import { useRef, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { Page, Resource } from "../api/types.ts";
import { findCollection } from "../state/collections.ts";
import { useLoad } from "../state/load.ts";
import { titleFields, titleOf } from "../state/titles.ts";
import { Dialog } from "../ui/dialog.tsx";
import { ProblemMessage } from "../ui/states.tsx";

interface PickerProps {
  readonly collection: string;
  readonly title: string;
  readonly onClose: () => void;
  readonly onChoose: (id: string) => void;
}

const shownAtOnce = 20;
const idPattern = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$/;

/** Which field has the titles, as far as the schema says. */
function titleFieldOf(collection: string): string {
  const properties = findCollection(collection)?.definition.schema?.properties;
  if (properties === undefined) return "name";
  const declared = titleFields(Object.keys(properties))[0];
  const firstText = Object.entries(properties).find(([, { type }]) => type === "string");
  return declared ?? firstText?.[0] ?? "id";
}

/** The list that the words ask for. */
function searchPath(collection: string, text: string): string {
  const params = new URLSearchParams({ limit: String(shownAtOnce), total: "none" });
  const words = text.trim();
  const isSearchable = (findCollection(collection)?.definition.searchable ?? []).length > 0;
  if (words !== "" && isSearchable) params.set("q", `${words}*`);
  else if (words !== "") params.set(`${titleFieldOf(collection)}[icontains]`, words);
  return `/${collection}?${params}`;
}

async function search(collection: string, text: string, signal: AbortSignal) {
  const { data } = await get<Page<Resource>>(searchPath(collection, text), signal);
  const isFound = data.some(({ id }) => id === text);
  if (isFound || !idPattern.test(text)) return data;
  const byId = await get<Resource>(`/${collection}/${text}`, signal).catch(() => undefined);
  return byId === undefined ? data : [byId, ...data];
}

export function Picker({ collection, title, onClose, onChoose }: PickerProps) {
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const { value, problem, isLoading } = useLoad(`${collection} ${text}`, (signal) =>
    search(collection, text.trim(), signal),
  );
  const found = value ?? [];
  const move = (step: number): void => {
    const next = (active + step + found.length) % Math.max(found.length, 1);
    setActive(next);
    list.current?.children[next]?.scrollIntoView({ block: "nearest" });
  };
  const chosen = found[active];
  return (
    <Dialog title={title} onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-label={`Search ${collection}`}
        aria-controls="picker-list"
        aria-expanded="true"
        aria-activedescendant={chosen && `pick-${active}`}
        placeholder={`Search ${collection}, or paste an id`}
        autocomplete="off"
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setActive(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") move(1);
          else if (event.key === "ArrowUp") move(-1);
          else if (event.key === "Enter" && chosen) onChoose(chosen.id);
          else return;
          event.preventDefault();
        }}
      />
      <ul ref={list} id="picker-list" role="listbox" aria-label={collection} class="palette-list">
        {found.map((resource, index) => (
          <li
            key={resource.id}
            id={`pick-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === active}
            onClick={() => onChoose(resource.id)}
          >
            <span dir="auto">{titleOf(resource)}</span>
            <span class="faint">{resource.id}</span>
          </li>
        ))}
      </ul>
      {problem && <ProblemMessage problem={problem} />}
      {found.length === 0 && !problem && (
        <p class="faint" role="status">
          {isLoading ? "Searching…" : "Nothing found."}
        </p>
      )}
    </Dialog>
  );
}
