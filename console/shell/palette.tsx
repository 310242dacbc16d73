// The command palette: resources, collections, screens, commands, and an id that is pasted.

import { useMemo, useRef, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import { collectionNames } from "../state/collections.ts";
import { type Command, commands, isPaletteOpen } from "../state/commands.ts";
import { tellFailure } from "../state/notices.ts";
import { goTo, linkTo, resourcePath } from "../state/router.ts";
import { collectionLink } from "../state/views.ts";
import { Dialog } from "../ui/dialog.tsx";
import { type Hit, useHits } from "./palette-search.ts";

const shownAtOnce = 50;
const idPattern = /^[A-Za-z0-9][A-Za-z0-9._~-]{7,127}$/;

export function Palette() {
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const hits = useHits(text);
  const found = useMemo(
    () => find(text, hits),
    [text, hits, commands.value, collectionNames.value],
  );
  const close = (): void => {
    isPaletteOpen.value = false;
  };
  const run = (command: Command | undefined): void => {
    if (command === undefined) return;
    close();
    command.run();
  };
  const move = (step: number): void => {
    const next = (active + step + found.length) % Math.max(found.length, 1);
    setActive(next);
    list.current?.children[next]?.scrollIntoView({ block: "nearest" });
  };
  return (
    <Dialog title="Commands" kind="palette" onClose={close}>
      <input
        type="text"
        role="combobox"
        class="palette-input"
        aria-label="Search resources, collections and commands"
        aria-controls="palette-list"
        aria-expanded="true"
        aria-activedescendant={found.length > 0 ? `command-${active}` : undefined}
        placeholder="Search resources, collections and commands"
        autocomplete="off"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setActive(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") move(1);
          else if (event.key === "ArrowUp") move(-1);
          else if (event.key === "Enter") run(found[active]);
          else return;
          event.preventDefault();
        }}
      />
      <ul ref={list} id="palette-list" role="listbox" aria-label="Commands" class="palette-list">
        {found.map((command, index) => (
          <li
            key={`${command.place} ${command.label} ${index}`}
            id={`command-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === active}
            onClick={() => run(command)}
          >
            <span dir="auto">{command.label}</span>
            {command.place && <span class="faint">{command.place}</span>}
            {command.key && <kbd>{command.key}</kbd>}
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="palette-none">Nothing found.</p>}
    </Dialog>
  );
}

function find(text: string, hits: readonly Hit[]): readonly (Command & Partial<Hit>)[] {
  const words = text.toLowerCase().split(/\s+/);
  const all = [...commands.value, ...collectionNames.value.map(openCollection)];
  const matches = all.filter(({ label }) =>
    words.every((word) => label.toLowerCase().includes(word)),
  );
  const id = text.trim();
  const byId = idPattern.test(id)
    ? [{ label: `Find the resource ${id}`, run: () => void openId(id) }]
    : [];
  return [...matches.slice(0, shownAtOnce), ...hits, ...byId];
}

const openCollection = (name: string): Command => ({
  label: `Open ${name}`,
  run: () => goTo(collectionLink(name)),
});

/** Looks for an id in every collection, because ids are unique within one only. */
async function openId(id: string): Promise<void> {
  const asked = collectionNames.peek().map(async (name) => {
    await get(`/${name}/${encodeURIComponent(id)}?fields=id`);
    return name;
  });
  try {
    goTo(linkTo(resourcePath(await Promise.any(asked), id)));
  } catch {
    tellFailure(new Error(`No collection has a resource with the id ${id}.`));
  }
}
