// The frame of one resource: its head, tabs, the open tab, and a bar to save.

import { useEffect, useMemo, useRef } from "preact/hooks";
import { get } from "../api/client.ts";
import type { Definition, Page, Resource, Rights } from "../api/types.ts";
import { isFiltered, parseView, queryParams } from "../grid/view.ts";
import { createRequest, deleteSoon, resourceUrl, tellSaved } from "../state/changes.ts";
import { collections, collectionsProblem, findCollection } from "../state/collections.ts";
import { isTyping, useCommands } from "../state/commands.ts";
import { useCurrentRequest } from "../state/current-request.ts";
import { useLoad } from "../state/load.ts";
import { tellDone, tellFailure } from "../state/notices.ts";
import {
  goTo,
  linkTo,
  type Route,
  resourcePath,
  route,
  screenPath,
  setGuard,
} from "../state/router.ts";
import { titleOf } from "../state/titles.ts";
import { useUnsaved } from "../state/unsaved.ts";
import { LeaveDialog } from "../ui/leave.tsx";
import { Loading, Shown } from "../ui/states.tsx";
import { type Draft, useDraft } from "./draft.ts";
import { Notes } from "./notes.tsx";
import { PanelHead } from "./panel-head.tsx";
import { SaveBar } from "./save-bar.tsx";
import { lockBy, type TabProps } from "./tab.ts";
import { Tabs, tabsOf } from "./tabs.tsx";
import { useUploads } from "./uploads.ts";

export interface PanelProps {
  readonly collection: string;
  /** Undefined for a new resource. */
  readonly id: string | undefined;
  readonly onClose: () => void;
  readonly onNext?: (() => void) | undefined;
  readonly onPrevious?: (() => void) | undefined;
}

export function Panel(props: PanelProps) {
  const { collection, id } = props;
  const draft = useDraft(collection, id);
  const rights = useRights(collection, id);
  const address = addressOf(collection, id);
  const verb = id === undefined ? "create" : "change";
  const lockOf = lockBy(id === undefined ? rights?.create : rights?.update, verb);
  const definition = useDefinition(collection);
  const uploads = useUploads(collection, id ?? "", draft);
  const tab: TabProps = { collection, id, definition, draft, uploads, rights, lockOf };
  const actions = actionsOf(props, draft);
  const isUnsaved =
    draft.changed.length > 0 || draft.textErrors.value.size > 0 || uploads.isRunning;
  useRequest(collection, id, draft);
  usePanelCommands(actions, `${collection}/${id}`);
  useUnsaved(isUnsaved, (next) => isAt(next, address));
  const open = route.value.path[address.length] ?? "form";
  const tabs = tabsOf(tab);
  // A form without its schema would be another one a moment later.
  const isKnown = collections.value !== undefined || collectionsProblem.value !== undefined;
  const isShown = isKnown && (id === undefined || draft.resource !== undefined);
  useEffect(() => {
    if (isKnown && id === undefined) focusFirst();
  }, [isKnown]);
  useEffect(() => {
    if (id !== undefined && !isTyping(document.activeElement)) focusHead();
  }, []);
  const current = tabs.find(({ name }) => name === open) ?? tabs[0];
  return (
    <section
      class="resource"
      aria-label={id === undefined ? `New in ${collection}` : id}
      onKeyDown={(event) => {
        leaveField(event);
        if (current.isEditor && isEnter(event)) void actions.save();
      }}
    >
      <PanelHead {...props} {...tab} title={titleFor(props, draft)} onDelete={actions.remove} />
      <Tabs tabs={tabs} current={current.name} address={address} isShown={isShown} />
      {isShown ? (
        <>
          <Notes {...tab} isForm={current.name === "form"} />
          <div
            class="resource-body"
            role="tabpanel"
            id="resource-tab"
            aria-labelledby={`tab-${current.name}`}
          >
            <current.Content {...tab} />
          </div>
          {current.isEditor && lockOf("") === undefined && <SaveBar {...tab} {...actions} />}
        </>
      ) : (
        <Shown loaded={draft.loaded} what="the resource">
          {() => <Loading what="the collection" />}
        </Shown>
      )}
      <LeaveDialog onLeave={draft.discard}>
        Your changes of this resource are not saved, or a file is not uploaded yet.
      </LeaveDialog>
    </section>
  );
}

const addressOf = (collection: string, id: string | undefined): readonly string[] =>
  id === undefined ? screenPath(collection, "new") : resourcePath(collection, id);

/** Another tab of the same resource is no other screen. */
const isAt = ({ path }: Route, address: readonly string[]): boolean =>
  address.every((segment, index) => path[index] === segment);

/** The id until the resource is there. */
const titleFor = ({ collection, id }: PanelProps, { resource, value }: Draft): string =>
  id === undefined ? `New in ${collection}` : resource ? titleOf({ ...value, id }) : id;

/** The same object while it says the same: collections are read again every few seconds. */
function useDefinition(collection: string): Definition {
  const definition = findCollection(collection)?.definition ?? {};
  return useMemo(() => definition, [JSON.stringify(definition)]);
}

function useRights(collection: string, id: string | undefined): Rights | undefined {
  const path =
    id === undefined ? `/-/access/${collection}` : `/-/access${resourceUrl(collection, id)}`;
  return useLoad(path, (signal) => get<Rights>(path, signal)).value;
}

function useRequest(collection: string, id: string | undefined, draft: Draft): void {
  useCurrentRequest(
    id === undefined
      ? createRequest(collection, draft.value, draft.key)
      : { method: "GET", path: resourceUrl(collection, id) },
  );
}

export interface Actions {
  readonly save: () => Promise<boolean>;
  readonly saveAndNext: (() => void) | undefined;
  readonly saveAndCreate: (() => void) | undefined;
  readonly remove: () => void;
  readonly close: () => void;
  readonly next: (() => void) | undefined;
  readonly previous: (() => void) | undefined;
}

function actionsOf(props: PanelProps, draft: Draft): Actions {
  const { collection, id, onClose, onNext, onPrevious } = props;
  const store = async (): Promise<string | undefined> => {
    if (draft.textErrors.value.size > 0) {
      tellFailure(new Error("A field is not valid JSON. Correct it, then save."));
      return undefined;
    }
    if (id !== undefined && draft.changed.length === 0) return id;
    const saved = await draft.save();
    if (saved === undefined) return undefined;
    setGuard(undefined);
    if (id === undefined) void tellCreated(collection, saved.body);
    else tellSaved(collection, id, draft.base, saved);
    return saved.body.id;
  };
  const then = (action: () => void) => () =>
    void store().then((saved) => saved !== undefined && action());
  return {
    save: async () => {
      const saved = await store();
      if (saved !== undefined && id === undefined)
        goTo(linkTo(resourcePath(collection, saved), route.peek().params));
      return saved !== undefined;
    },
    saveAndNext: onNext && then(onNext),
    saveAndCreate: id === undefined ? then(focusFirst) : undefined,
    remove: () => {
      if (id === undefined) return;
      const href = linkTo(resourcePath(collection, id), route.peek().params);
      const title = titleFor(props, draft);
      draft.discard();
      setGuard(undefined);
      onClose();
      deleteSoon(collection, id, draft.base.etag, title, () => goTo(href));
    },
    close: onClose,
    next: onNext,
    previous: onPrevious,
  };
}

/** A list with a filter may not have it. */
async function tellCreated(collection: string, resource: Resource): Promise<void> {
  const done = `Created ${titleOf(resource)}.`;
  const view = parseView(route.peek().params);
  if (!isFiltered(view)) return tellDone(done);
  const params = queryParams(view);
  params.append("id[eq]", resource.id);
  params.set("limit", "1");
  const found = await get<Page<Resource>>(`/${collection}?${params}`).catch(() => undefined);
  tellDone(found?.data.length === 0 ? `${done} The filter of the list hides it.` : done);
}

const focusFirst = (): void =>
  document.querySelector<HTMLElement>(".resource-body :is(input, textarea, select)")?.focus();

const focusHead = (): void => document.querySelector<HTMLElement>(".resource-head h1")?.focus();

/** Enter in a field of one line saves, as in any form. */
function isEnter(event: KeyboardEvent): boolean {
  const { key, target, isComposing, defaultPrevented } = event;
  const isPlain = !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  const isLine =
    target instanceof HTMLInputElement && !/^(checkbox|radio|file|button)$/.test(target.type);
  return key === "Enter" && isPlain && isLine && !isComposing && !defaultPrevented;
}

/** Escape leaves a field at first; then it closes the resource. */
function leaveField(event: KeyboardEvent): void {
  if (event.key !== "Escape" || event.defaultPrevented || !isTyping(event.target)) return;
  event.stopPropagation();
  if (document.querySelector("dialog[open], :popover-open") === null) focusHead();
}

function usePanelCommands(actions: Actions, key: string): void {
  const latest = useRef(actions);
  // At once: a key may follow the last letter before effects have run.
  latest.current = actions;
  const isMenuOpen = (): boolean => document.querySelector(":popover-open") !== null;
  useCommands(
    [
      { label: "Save the resource", key: "ctrl+s", run: () => void latest.current.save() },
      {
        label: "Save and open the next",
        key: "ctrl+enter",
        run: () => (latest.current.saveAndNext ?? latest.current.saveAndCreate)?.(),
      },
      { label: "Open the next resource", key: "j", run: () => latest.current.next?.() },
      { label: "Open the previous resource", key: "k", run: () => latest.current.previous?.() },
      { label: "Delete the resource", run: () => latest.current.remove() },
      {
        label: "Close the resource",
        key: "escape",
        run: () => isMenuOpen() || latest.current.close(),
      },
    ],
    key,
  );
}
