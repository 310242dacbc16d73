// A small picture of a file. It is read when its row has come to rest, and kept for the way back.

import { useEffect, useState } from "preact/hooks";
import { readFile } from "../api/upload.ts";
import { Icon } from "../ui/icon.tsx";

const restMs = 150;
const mostKept = 300;
const kept = new Map<string, string>();

/** `version` tells apart what the same path had at another time. */
export function Thumbnail({ path, version }: { path: string; version: string }) {
  const key = `${path} ${version}`;
  const [, draw] = useState({});
  useEffect(() => {
    if (kept.has(key)) return;
    const abort = new AbortController();
    const load = async (): Promise<void> => {
      keep(key, await readFile(path, abort.signal));
      draw({});
    };
    const timer = setTimeout(() => load().catch(() => {}), restMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key]);
  const url = kept.get(key);
  return (
    <span class="thumbnail">
      {url === undefined ? <Icon name="image" /> : <img src={url} alt="" />}
    </span>
  );
}

function keep(key: string, picture: Blob): void {
  kept.set(key, URL.createObjectURL(picture));
  const [oldest] = kept;
  if (kept.size <= mostKept || oldest === undefined) return;
  URL.revokeObjectURL(oldest[1]);
  kept.delete(oldest[0]);
}
