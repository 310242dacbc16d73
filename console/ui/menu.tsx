// A button that opens a list of commands, with the browser's popover.

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icon.tsx";

export interface MenuItem {
  readonly label: string;
  readonly icon?: IconName;
  readonly isDisabled?: boolean;
  readonly run: () => void;
}

interface MenuProps {
  readonly label: string;
  readonly icon?: IconName;
  /** Shows the icon alone; the label is its name. */
  readonly isIconOnly?: boolean;
  /** The keys that open it, such as `Control+.`; then Tab passes it by. */
  readonly shortcut?: string | undefined;
  readonly items: readonly MenuItem[];
}

export function Menu({ label, icon, isIconOnly = false, shortcut, items }: MenuProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const place = () => placeBelow(list.current, button.current);
  return (
    <>
      <button
        ref={button}
        type="button"
        class={isIconOnly ? "button icon-button" : "button plain"}
        popovertarget={id}
        aria-haspopup="menu"
        aria-label={isIconOnly ? label : undefined}
        aria-keyshortcuts={shortcut}
        tabIndex={shortcut === undefined ? undefined : -1}
        title={isIconOnly ? `${label}${shortcut ? ` (${shortcut})` : ""}` : undefined}
      >
        {icon && <Icon name={icon} />}
        {!isIconOnly && <span class="menu-label">{label}</span>}
        {!isIconOnly && <Icon name="chevron-down" />}
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        role="menu"
        class="menu"
        aria-label={label}
        onKeyDown={moveFocus}
        onToggle={(event) => {
          if (event.newState !== "open") return;
          place();
          list.current?.querySelector<HTMLElement>("[role=menuitem]:not(:disabled)")?.focus();
        }}
      >
        {items.map(({ label: text, icon: itemIcon, isDisabled, run }) => (
          <button
            key={text}
            type="button"
            role="menuitem"
            class="menu-item"
            disabled={isDisabled}
            onClick={() => {
              list.current?.hidePopover();
              run();
            }}
          >
            {itemIcon && <Icon name={itemIcon} />}
            {text}
          </button>
        ))}
      </div>
    </>
  );
}

/** A popover with content of its own, such as a list of columns. */
interface PopoverProps {
  readonly label: string;
  readonly icon?: IconName;
  readonly kind?: "plain" | "quiet" | "chip";
  /** Finds its button, for a command that opens it. */
  readonly name?: string;
  readonly isInvalid?: boolean;
  /** It is made anew each time it opens. */
  readonly children: ComponentChildren | ((close: () => void) => ComponentChildren);
}

export function Popover({ label, icon, kind = "plain", name, isInvalid, children }: PopoverProps) {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (!isOpen) return;
    placeBelow(box.current, button.current);
    box.current?.querySelector<HTMLElement>("input, select, textarea, button")?.focus();
  }, [isOpen]);
  const close = (): void => {
    box.current?.hidePopover();
    button.current?.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class={`button ${kind}`}
        popovertarget={id}
        data-popover={name}
        data-invalid={isInvalid || undefined}
      >
        {icon && <Icon name={icon} />}
        <span class="button-text">{label}</span>
      </button>
      <div
        ref={box}
        id={id}
        popover="auto"
        role="dialog"
        aria-label={label}
        class="menu popover-box"
        onToggle={(event) => event.target === box.current && setOpen(event.newState === "open")}
      >
        {isOpen && (typeof children === "function" ? children(close) : children)}
      </div>
    </>
  );
}

/** Opens the popover of this name. */
export const openPopover = (name: string): void =>
  document.querySelector<HTMLElement>(`[data-popover="${name}"]`)?.click();

const marginPx = 8;

/** Puts it below the button, inside the window. */
function placeBelow(box: HTMLElement | null, button: HTMLElement | null): void {
  if (box === null || button === null) return;
  const from = button.getBoundingClientRect();
  const { width, height } = box.getBoundingClientRect();
  const left = Math.min(from.left, innerWidth - width - marginPx);
  const isAbove = from.bottom + height + marginPx > innerHeight && from.top > height;
  box.style.left = `${Math.max(marginPx, left)}px`;
  box.style.top = `${isAbove ? from.top - height - 4 : from.bottom + 4}px`;
}

function moveFocus(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  const list = event.currentTarget as HTMLElement;
  const items = [...list.querySelectorAll<HTMLElement>("[role=menuitem]:not(:disabled)")];
  const index = items.indexOf(document.activeElement as HTMLElement);
  items.at((index + step) % items.length)?.focus();
}
