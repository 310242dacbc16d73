// The draft of one resource: what was read, what was changed, and how it is saved.

import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getTagged, type Tagged } from "../api/client.ts";
import { isEqual, type JsonObject, valueAtPointer } from "../api/json.ts";
import { changedNames, fieldsOf, rebase } from "../api/patch.ts";
import { asProblem, leftWith, type Problem, type ProblemDetail } from "../api/problem.ts";
import type { Resource } from "../api/types.ts";
import {
  createAgain,
  createResource,
  isConflict,
  openConflict,
  resourceUrl,
  saveDraft,
} from "../state/changes.ts";
import { findCollection } from "../state/collections.ts";
import { type Loaded, useLoad } from "../state/load.ts";
import { randomKey } from "./random-key.ts";

export interface Draft {
  readonly loaded: Loaded<Tagged<Resource>>;
  /** The resource as it was read last; undefined for a new one. */
  readonly resource: Resource | undefined;
  /** The members that were read, with the ETag for `If-Match`. */
  readonly base: Tagged<JsonObject>;
  readonly value: JsonObject;
  readonly changed: readonly string[];
  readonly problem: Problem | undefined;
  readonly isBusy: boolean;
  /** Someone else has changed the resource since it was read. */
  readonly isOutdated: boolean;
  /** Someone else has deleted the resource. */
  readonly isGone: boolean;
  readonly textErrors: Signal<ReadonlyMap<string, string>>;
  /** The text of the JSON tab as it was typed. */
  readonly text: Signal<string | undefined>;
  /** The key with which a new resource is created once. */
  readonly key: string;
  /** Files for a new resource, by their field. */
  readonly files: Signal<ReadonlyMap<string, readonly File[]>>;
  readonly change: (value: JsonObject) => void;
  readonly discard: () => void;
  /** Takes over a newer state that this panel has caused, such as an upload. */
  readonly adopt: (state: Tagged<Resource>) => void;
  /** Returns the saved state, or undefined when it was not saved. */
  readonly save: () => Promise<Tagged<Resource> | undefined>;
  readonly restore: () => Promise<void>;
}

interface DraftState {
  readonly resource: Resource | undefined;
  readonly base: Tagged<JsonObject>;
  readonly value: JsonObject;
}

const empty: DraftState = { resource: undefined, base: { body: {}, etag: "" }, value: {} };

const isChanged = ({ base, value }: DraftState): boolean =>
  changedNames(base.body, value).length > 0;

const stateOf = ({ body, etag }: Tagged<Resource>): DraftState => {
  const fields = fieldsOf(body);
  return { resource: body, base: { body: fields, etag }, value: fields };
};

export function useDraft(collection: string, id: string | undefined): Draft {
  const path = id === undefined ? undefined : resourceUrl(collection, id);
  const loaded = useLoad<Tagged<Resource>>(path ?? "", (signal) =>
    path === undefined ? new Promise(() => {}) : getTagged(path, signal),
  );
  const [state, setState] = useState<DraftState>(empty);
  const [rejected, setRejected] = useState<Rejected>();
  const problem = useMemo(() => openProblem(rejected, state.value), [rejected, state.value]);
  const setProblem = (next: Problem | undefined): void =>
    setRejected(next && { problem: next, value: state.value });
  const [isBusy, setBusy] = useState(false);
  const textErrors = useSignal<ReadonlyMap<string, string>>(new Map());
  const text = useSignal<string | undefined>(undefined);
  const files = useSignal<ReadonlyMap<string, readonly File[]>>(new Map());
  const key = useRef(randomKey());
  const changed = [...changedNames(state.base.body, state.value), ...files.value.keys()];
  // What was read before the last save is not newer.
  const old = useRef(loaded.value);
  const isNewer =
    loaded.value !== undefined &&
    loaded.value !== old.current &&
    loaded.value.etag !== state.base.etag;
  useEffect(() => {
    const { value } = loaded;
    // What someone is changing stays, also what was typed a moment ago; saving it shows both versions.
    if (value !== undefined) setState((former) => (isChanged(former) ? former : stateOf(value)));
  }, [loaded.value]);
  useReloadOnChange(collection, loaded.reload);

  const adopt = (saved: Tagged<Resource>): void => {
    old.current = loaded.value;
    setState((former) => {
      const next = stateOf(saved);
      return { ...next, value: rebase(former.base.body, former.value, next.base.body) };
    });
    setProblem(undefined);
  };
  const finish = (saved: Tagged<Resource>): void => {
    old.current = loaded.value;
    setState(id === undefined ? empty : stateOf(saved));
    setProblem(undefined);
    text.value = undefined;
    files.value = new Map();
    key.current = randomKey();
  };
  const run = async (action: () => Promise<Tagged<Resource>>) => {
    setBusy(true);
    try {
      const saved = await action();
      finish(saved);
      return saved;
    } catch (error) {
      const { base, value } = state;
      if (id !== undefined && isConflict(error)) {
        const shared = { collection, id, base: base.body, mine: value, onSaved: finish };
        await openConflict(shared).catch((failure) => setProblem(asProblem(failure)));
      } else setProblem(asProblem(error));
      // An answer says that nothing was created with this key.
      if (asProblem(error).status > 0) key.current = randomKey();
      return undefined;
    } finally {
      setBusy(false);
    }
  };

  return {
    ...state,
    ...{ loaded, changed, problem, isBusy, textErrors, text, files, adopt, key: key.current },
    isOutdated: isNewer && changed.length > 0,
    isGone: id !== undefined && [problem, loaded.problem].some(isMissing),
    change: (value) => setState((former) => ({ ...former, value })),
    discard: () => {
      setProblem(undefined);
      textErrors.value = new Map();
      text.value = undefined;
      files.value = new Map();
      setState((former) =>
        loaded.value && isNewer ? stateOf(loaded.value) : { ...former, value: former.base.body },
      );
    },
    save: () =>
      run(() =>
        id === undefined
          ? createResource(collection, state.value, key.current, files.peek())
          : saveDraft(collection, id, state.base, state.value),
      ),
    restore: async () => {
      if (id === undefined) return;
      await run(() => createAgain(collection, id, state.value));
      loaded.reload();
    },
  };
}

interface Rejected {
  readonly problem: Problem;
  /** What was sent. */
  readonly value: JsonObject;
}

/** The errors of what was changed since then are done with. */
function openProblem(rejected: Rejected | undefined, value: JsonObject): Problem | undefined {
  if (rejected === undefined) return undefined;
  const { problem, value: sent } = rejected;
  const isOpen = ({ pointer = "" }: ProblemDetail): boolean =>
    isEqual(valueAtPointer(sent, pointer), valueAtPointer(value, pointer));
  return leftWith(problem, problem.errors.filter(isOpen));
}

const isMissing = (problem: Problem | undefined): boolean =>
  problem?.status === 404 || problem?.status === 410;

/** Reads the resource again when its collection has changed. */
function useReloadOnChange(collection: string, reload: () => void): void {
  const revision = findCollection(collection)?.revision;
  const first = useRef(revision);
  useEffect(() => {
    if (first.current !== undefined && revision !== first.current) reload();
    first.current = revision;
  }, [revision]);
}
