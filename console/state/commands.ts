// The commands of the palette and their keys. A screen adds its own while it is open.

import { computed, signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

export interface Command {
  /** What it does, such as `New person`. */
  readonly label: string;
  /** A single key such as `n`, or `ctrl+s`. Single keys do not work while someone types. */
  readonly key?: string;
  readonly run: () => void;
}

const groups = signal<readonly (readonly Command[])[]>([]);

/** Those of the screen that was opened last come first. */
export const commands = computed(() => groups.value.toReversed().flat());

export const isPaletteOpen = signal(false);

export function useCommands(list: readonly Command[], key: string): void {
  // Keys work as soon as the screen is shown. The key says when the list is another one.
  useLayoutEffect(() => {
    groups.value = [...groups.peek(), list];
    return () => {
      groups.value = groups.peek().filter((group) => group !== list);
    };
  }, [key]);
}

/** Whether the browser has its own undo there. */
const hasText = (target: EventTarget | null): boolean =>
  isTyping(target) &&
  !(target instanceof HTMLInputElement && /^(checkbox|radio|file|range)$/.test(target.type)) &&
  !(target instanceof HTMLSelectElement);

/** Whether keys go into a field. */
export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target.shadowRoot !== null ||
    /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

function nameOf(event: KeyboardEvent): string {
  const isCommand = event.ctrlKey || event.metaKey;
  return `${isCommand ? "ctrl+" : ""}${event.key.toLowerCase()}`;
}

addEventListener("keydown", (event) => {
  const name = nameOf(event);
  if (name === "ctrl+k") {
    event.preventDefault();
    isPaletteOpen.value = !isPaletteOpen.peek();
    return;
  }
  // Elsewhere the browser would take back what was typed last, such as a search.
  if (name === "ctrl+z" && hasText(event.target)) return;
  if (name === "ctrl+z") event.preventDefault();
  if (event.altKey || document.querySelector("dialog[open], :popover-open") !== null) return;
  if (!name.startsWith("ctrl+") && isTyping(event.target)) return;
  const command = commands.peek().find(({ key }) => key === name);
  if (command === undefined) return;
  event.preventDefault();
  command.run();
});
