// The bar at the top: where you are, the palette, "Copy as", the theme, and who you are.

import { useState } from "preact/hooks";
import { signOut, token } from "../api/session.ts";
import { isAdmin } from "../state/collections.ts";
import { isPaletteOpen } from "../state/commands.ts";
import { currentRequest } from "../state/current-request.ts";
import { runHeld } from "../state/notices.ts";
import { linkTo, route } from "../state/router.ts";
import { type Theme, theme, themes } from "../state/theme.ts";
import { useTitle } from "../state/titles.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Menu } from "../ui/menu.tsx";
import { RequestCode } from "../ui/request-code.tsx";
import { findScreen } from "./screens.ts";

const themeLooks: Readonly<Record<Theme, readonly [IconName, string]>> = {
  system: ["monitor", "As the system"],
  light: ["sun", "Light"],
  dark: ["moon", "Dark"],
};

interface TopBarProps {
  readonly isMenuOpen: boolean;
  readonly onMenu: () => void;
}

export function TopBar({ isMenuOpen, onMenu }: TopBarProps) {
  return (
    <header class="top-bar">
      <span class="narrow-only">
        <IconButton
          icon={isMenuOpen ? "x" : "menu"}
          label={isMenuOpen ? "Close the navigation" : "Navigation"}
          onClick={onMenu}
        />
      </span>
      <a class="brand" href={linkTo([])} aria-label="Restante">
        <img src="console/icon.svg" alt="" width="24" height="24" />
        <span class="wide-only">Restante</span>
      </a>
      <Breadcrumb />
      <button
        type="button"
        class="button search-button"
        onClick={() => {
          isPaletteOpen.value = true;
        }}
      >
        <Icon name="search" />
        <span class="wide-only">Search or run a command</span>
        <kbd class="wide-only">Ctrl K</kbd>
        <span class="hidden-text">Commands</span>
      </button>
      <CopyAs />
      <ThemeMenu />
      <span class="who wide-only">{whoIsIt()}</span>
      <IconButton
        icon={token.value ? "log-out" : "key-round"}
        label={token.value ? "Sign out" : "Sign in"}
        onClick={() => {
          runHeld();
          signOut();
        }}
      />
    </header>
  );
}

const whoIsIt = (): string =>
  isAdmin.value ? "Administrator" : token.value ? "Limited token" : "Without a token";

function Breadcrumb() {
  const { path } = route.value;
  const [first, name, ...rest] = path;
  const label = first === "c" ? undefined : findScreen(path)?.label;
  const last = rest[0] === "-" ? rest[1] : rest[0];
  return (
    <nav class="breadcrumb" aria-label="Breadcrumb">
      {label && <span aria-current="page">{label}</span>}
      {first === "c" && name && (
        <a href={linkTo(["c", name])} aria-current={last === undefined ? "page" : undefined}>
          {name}
        </a>
      )}
      {last !== undefined && (
        <>
          <Icon name="chevron-right" />
          <span aria-current="page" dir="auto">
            {rest[0] === "-" ? placeOf(path, last) : <Title collection={name ?? ""} id={last} />}
          </span>
        </>
      )}
    </nav>
  );
}

const placeOf = (path: readonly string[], last: string): string =>
  last === "new" ? "New" : (findScreen(path)?.label ?? last);

/** What the resource is called; its id where it has no title. */
function Title({ collection, id }: { collection: string; id: string }) {
  const title = useTitle(collection, id);
  return <span title={id}>{title ?? (title === null ? id : "…")}</span>;
}

function ThemeMenu() {
  const [icon, name] = themeLooks[theme.value];
  const items = themes.map((one) => ({
    label: themeLooks[one][1],
    icon: themeLooks[one][0],
    run: () => {
      theme.value = one;
    },
  }));
  return <Menu label={`Theme: ${name.toLowerCase()}`} icon={icon} isIconOnly items={items} />;
}

function CopyAs() {
  const [isOpen, setOpen] = useState(false);
  const request = currentRequest.value;
  if (request === undefined) return null;
  const title = "The request that this page sends, as curl, fetch or Python";
  return (
    <>
      <Button icon="copy" title={title} onClick={() => setOpen(true)}>
        <span class="menu-label">Copy as</span>
      </Button>
      {isOpen && (
        <Dialog title="The request that this page sends" onClose={() => setOpen(false)}>
          <RequestCode request={request} />
          <p class="faint">
            <code>TOKEN</code> stands for your token, which is never shown.
          </p>
        </Dialog>
      )}
    </>
  );
}
