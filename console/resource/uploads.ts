// The uploads of a resource: one after the other, each with its progress and a way to cancel it.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { getTagged } from "../api/client.ts";
import type { JsonObject } from "../api/json.ts";
import { asProblem, type Problem } from "../api/problem.ts";
import type { Resource } from "../api/types.ts";
import { uploadFile } from "../api/upload.ts";
import { reportChange, resourceUrl } from "../state/changes.ts";
import type { Draft } from "./draft.ts";

export interface Upload extends UploadOrder {
  readonly sent: number;
  readonly problem?: Problem;
  readonly abort: AbortController;
}

export interface UploadOrder {
  /** The last segment of the address, such as `docs.2`, which depends on the files that are there by then. */
  readonly nameIn: (resource: JsonObject) => string;
  readonly file: File;
  /** The ETag of the file that is replaced. */
  readonly replaces?: string;
}

export interface Uploads {
  readonly list: readonly Upload[];
  readonly isRunning: boolean;
  readonly add: (orders: readonly UploadOrder[]) => void;
  readonly cancel: (upload: Upload) => void;
  /** Sends one again that has failed. */
  readonly retry: (upload: Upload) => void;
}

export function useUploads(collection: string, id: string, draft: Draft): Uploads {
  const list = useSignal<readonly Upload[]>([]);
  const queue = useRef<Promise<void>>(Promise.resolve());
  const latest = useRef(draft);
  latest.current = draft;
  // What the last upload left, which the next one must know before it is drawn.
  const base = useRef<JsonObject>({});
  base.current = draft.base.body;
  const update = (abort: AbortController, change: Partial<Upload>): void => {
    list.value = list.peek().map((one) => (one.abort === abort ? { ...one, ...change } : one));
  };
  const remove = (abort: AbortController): void => {
    list.value = list.peek().filter((one) => one.abort !== abort);
  };
  const run = async (order: UploadOrder, abort: AbortController): Promise<void> => {
    if (abort.signal.aborted) return;
    const { nameIn, file, replaces } = order;
    const path = `${resourceUrl(collection, id)}/${nameIn(base.current)}`;
    const condition = replaces === undefined ? { "If-None-Match": "*" } : { "If-Match": replaces };
    const onProgress = (sent: number): void => update(abort, { sent });
    try {
      await uploadFile(path, file, condition, onProgress, abort.signal);
      remove(abort);
      const now = await getTagged<Resource>(resourceUrl(collection, id));
      base.current = now.body;
      latest.current.adopt(now);
      reportChange();
    } catch (error) {
      if (!abort.signal.aborted) update(abort, { problem: asProblem(error) });
    }
  };
  /** What has failed before is forgotten when someone tries again. */
  const clear = (): void => {
    list.value = list.peek().filter(({ problem }) => problem === undefined);
  };
  const add = (orders: readonly UploadOrder[]): void => {
    for (const order of orders) {
      const abort = new AbortController();
      list.value = [...list.peek(), { ...order, sent: 0, abort }];
      queue.current = queue.current.then(() => run(order, abort));
    }
  };
  return {
    list: list.value,
    isRunning: list.value.some(({ problem }) => problem === undefined),
    add: (orders) => {
      clear();
      add(orders);
    },
    retry: ({ abort, sent, problem, ...order }) => {
      remove(abort);
      add([order]);
    },
    cancel: ({ abort }) => {
      abort.abort(new Error("cancelled"));
      remove(abort);
    },
  };
}
