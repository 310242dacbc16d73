// The head of a resource: its title, the neighbours, and what can be done with it as a whole.

import type { Rights } from "../api/types.ts";
import { IconButton } from "../ui/button.tsx";
import { copyText } from "../ui/clipboard.ts";
import { Menu } from "../ui/menu.tsx";

interface PanelHeadProps {
  readonly id: string | undefined;
  readonly title: string;
  readonly rights: Rights | undefined;
  readonly onDelete: () => void;
  readonly onClose: () => void;
  readonly onNext?: (() => void) | undefined;
  readonly onPrevious?: (() => void) | undefined;
}

export function PanelHead(props: PanelHeadProps) {
  const { id, title, rights, onDelete, onClose, onNext, onPrevious } = props;
  const mayDelete = rights?.delete !== false;
  return (
    <header class="resource-head">
      <h1 title={title} dir="auto" tabIndex={-1}>
        {title}
      </h1>
      {id !== undefined && (
        <Menu
          label="More for this resource"
          icon="ellipsis"
          isIconOnly
          items={[
            { label: "Copy the id", icon: "copy", run: () => void copyText(id, "the id") },
            {
              label: "Copy the link to this page",
              icon: "link",
              run: () => void copyText(location.href, "the link"),
            },
            {
              label: mayDelete ? "Delete" : "Delete (your token may not)",
              icon: "trash",
              isDisabled: !mayDelete,
              run: onDelete,
            },
          ]}
        />
      )}
      {(onPrevious || onNext) && (
        <>
          <IconButton
            icon="chevron-up"
            label="Previous resource"
            isDisabled={onPrevious === undefined}
            onClick={() => onPrevious?.()}
          />
          <IconButton
            icon="chevron-down"
            label="Next resource"
            isDisabled={onNext === undefined}
            onClick={() => onNext?.()}
          />
        </>
      )}
      <IconButton icon="x" label="Close the resource" onClick={onClose} />
    </header>
  );
}
