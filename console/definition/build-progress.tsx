// How far the indexes of existing resources are, while they are built.

import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { Build, Collection } from "../api/types.ts";

const pollMs = 1_000;

export function BuildProgress({ collection }: { collection: string }) {
  const [build, setBuild] = useState<Build>();
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const poll = async (): Promise<void> => {
      const path = `/-/collections/${collection}`;
      const found = await get<Collection>(path, abort.signal).catch(() => undefined);
      if (abort.signal.aborted) return;
      setBuild(found?.build);
      if (found?.build?.status === "running") timer = setTimeout(() => void poll(), pollMs);
    };
    void poll();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [collection]);
  if (build === undefined) return null;
  if (build.status === "failed")
    return (
      <p role="alert" class="note danger">
        Not unique any more: {build.errors?.map(({ detail }) => detail).join("; ")}
      </p>
    );
  return (
    <p role="status" class="tool-row">
      <progress aria-label="Indexes" value={build.done} max={build.total} />
      Indexes are built: {build.percent} %
    </p>
  );
}
