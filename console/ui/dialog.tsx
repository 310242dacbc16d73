// A modal dialog: the browser's own, with its focus, Escape and backdrop.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { IconButton } from "./button.tsx";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  /** `wide` for tables and editors, `palette` without a visible title. */
  readonly kind?: "plain" | "wide" | "palette";
}

/** The one that has the focus, also inside of an editor. */
function activeElement({ activeElement: found }: DocumentOrShadowRoot): Element | null {
  return found?.shadowRoot?.activeElement ? activeElement(found.shadowRoot) : found;
}

/** It is open while it is rendered. */
export function Dialog({ title, onClose, children, kind = "plain" }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const opener = activeElement(document);
    element.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={`dialog ${kind}`}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === element.current && onClose()}
    >
      <div class="dialog-box">
        <div class={kind === "palette" ? "hidden-text" : "dialog-head"}>
          <h2 id={titleId}>{title}</h2>
          {kind !== "palette" && <IconButton icon="x" label="Close" onClick={onClose} />}
        </div>
        {children}
      </div>
    </dialog>
  );
}
