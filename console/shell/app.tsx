// The frame of every screen: top bar, navigation, the open screen, and messages.

import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { comebacks, connection } from "../api/connection.ts";
import { asProblem } from "../api/problem.ts";
import { token } from "../api/session.ts";
import { ConflictDialog } from "../resource/conflict.tsx";
import { conflict } from "../state/changes.ts";
import { collections, isAdmin, loadCollections } from "../state/collections.ts";
import { isPaletteOpen, useCommands } from "../state/commands.ts";
import { closeNotice, notices, pauseNotices, undoLast } from "../state/notices.ts";
import { isWatched } from "../state/poll.ts";
import { goTo, linkTo, route } from "../state/router.ts";
import { linkState } from "../state/sign-in-link.ts";
import { flipTheme } from "../state/theme.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Loading, Message, ProblemMessage } from "../ui/states.tsx";
import { CollectionTabs } from "./collection-tabs.tsx";
import { Palette } from "./palette.tsx";
import { Rail } from "./rail.tsx";
import { findScreen, type Screen, screens } from "./screens.ts";
import { SignIn } from "./sign-in.tsx";
import { TokenBanner, TokenDialog } from "./token-dialog.tsx";
import { TopBar } from "./top-bar.tsx";

const refreshMs = 10_000;

export function App() {
  if (token.value !== undefined) return <Frame />;
  return linkState.value === "busy" ? <Loading what="the console" /> : <SignIn />;
}

function Frame() {
  const isRailOpen = useSignal(false);
  useCollections();
  useCommands(
    [
      ...screens.map(({ name, label }) => ({
        label: `Go to ${label.toLowerCase()}`,
        run: () => goTo(linkTo(name === "" ? [] : [name])),
      })),
      { label: "Undo the last change", key: "ctrl+z", run: undoLast },
      { label: "Change the theme", run: flipTheme },
    ],
    "frame",
  );
  return (
    <div class="frame" data-rail={isRailOpen.value ? "open" : undefined}>
      <button type="button" class="button skip-link" onClick={focusMain}>
        Skip to content
      </button>
      <TopBar
        isMenuOpen={isRailOpen.value}
        onMenu={() => {
          isRailOpen.value = !isRailOpen.value;
        }}
      />
      <Rail
        onChoose={() => {
          isRailOpen.value = false;
        }}
      />
      <main id="main" tabIndex={-1}>
        <ConnectionBanner />
        <CollectionTabs />
        <div class="screen">
          <OpenScreen />
        </div>
      </main>
      <Notices />
      {conflict.value && <ConflictDialog key={conflict.value.theirs.etag} {...conflict.value} />}
      {isPaletteOpen.value && <Palette />}
      <TokenDialog />
    </div>
  );
}

const focusMain = (): void => document.getElementById("main")?.focus();

/** Keeps the list of collections current while someone looks. */
function useCollections(): void {
  const returns = comebacks.value;
  // When the server is back, they are read again.
  useEffect(() => {
    void loadCollections();
    const timer = setInterval(() => {
      if (isWatched()) void loadCollections();
    }, refreshMs);
    return () => clearInterval(timer);
  }, [returns]);
}

function OpenScreen() {
  const { path } = route.value;
  const screen = findScreen(path);
  useEffect(() => {
    const steps = path.slice(1).filter((step) => step !== "-");
    const place = path[0] === "c" ? steps.join(" / ") : screen?.label;
    document.title = place === undefined ? "Restante" : `${place} · Restante`;
  }, [path, screen]);
  if (screen === undefined)
    return (
      <>
        <h1 class="hidden-text">Unknown address</h1>
        <Message icon="info" title="There is no such screen">
          <p>
            <a href={linkTo([])}>Go to the overview</a>
          </p>
        </Message>
      </>
    );
  if (!screen.isForAll && !isAdmin.value) return <NotForYou label={screen.label} />;
  return <LazyScreen key={`${path[0]} ${path[1]} ${screen.name}`} screen={screen} />;
}

/** Screens of administrators lead everyone else to the overview. */
function NotForYou({ label }: { label: string }) {
  const isKnown = collections.value !== undefined;
  useEffect(() => {
    if (isKnown) goTo(linkTo([]), true);
  }, [isKnown]);
  return <Loading what={label.toLowerCase()} />;
}

const known = new Map<Screen, ComponentType>();

function LazyScreen({ screen }: { screen: Screen }) {
  const [state, setState] = useState<{ Component?: ComponentType; error?: unknown }>(() => {
    const Component = known.get(screen);
    return Component ? { Component } : {};
  });
  useEffect(() => {
    if (known.has(screen)) return;
    screen.load().then(
      (Component) => {
        known.set(screen, Component);
        setState({ Component });
      },
      (error) => setState({ error }),
    );
  }, [screen]);
  const { Component, error } = state;
  if (error !== undefined) return <ProblemMessage problem={asProblem(error)} />;
  return Component ? <Component /> : <Loading what={screen.label.toLowerCase()} />;
}

const connectionTexts = {
  offline:
    "The server does not answer. What you see may be old; the console tries again automatically.",
  restarting:
    "The server is starting or cannot accept changes now. The console tries again automatically.",
};

function ConnectionBanner() {
  const state = connection.value;
  return (
    <div role="status" class="banner-place">
      {state !== "online" && <p class="banner">{connectionTexts[state]}</p>}
      <TokenBanner />
    </div>
  );
}

function Notices() {
  return (
    <div
      class="notices"
      role="status"
      aria-live="polite"
      onPointerEnter={() => pauseNotices(true)}
      onPointerLeave={() => pauseNotices(false)}
      onFocusIn={() => pauseNotices(true)}
      onFocusOut={() => pauseNotices(false)}
    >
      {notices.value.map(({ id, kind, text, action }) => (
        <div key={id} class={`notice ${kind}`}>
          <p>{text}</p>
          {action && (
            <Button kind="quiet" icon="undo" onClick={action.run}>
              {action.label}
            </Button>
          )}
          {kind !== "held" && (
            <IconButton icon="x" label="Close this message" onClick={() => closeNotice(id)} />
          )}
        </div>
      ))}
    </div>
  );
}
