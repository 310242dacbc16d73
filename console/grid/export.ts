// Saves a whole list to a file: straight to the disk where the browser can, otherwise as a download.

import { signal } from "@preact/signals";
import { type ApiRequest, send } from "../api/client.ts";
import { tellDone, tellFailure } from "../state/notices.ts";

export interface RunningExport {
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
  /** Undefined when it is not known. */
  readonly total: number | undefined;
  readonly cancel: () => void;
}

export const runningExport = signal<RunningExport | undefined>(undefined);

/** More than this should not be held in memory. */
const manyRows = 20_000;

interface FileHandle {
  createWritable(): Promise<WritableStream<Uint8Array>>;
}
type Picker = (options: { suggestedName: string }) => Promise<FileHandle>;

export async function exportList(
  request: ApiRequest,
  name: string,
  total: number | undefined,
): Promise<void> {
  const abort = new AbortController();
  try {
    const target = await targetFor(name, total);
    if (target === "cancelled") return;
    runningExport.value = { name, rows: 0, bytes: 0, total, cancel: () => abort.abort() };
    const response = await send(request, abort.signal);
    const body = response.body?.pipeThrough(counter()) ?? new ReadableStream<Uint8Array>();
    if (target === undefined) download(await new Response(body).blob(), name);
    else await write(body, target, abort.signal);
    tellDone(`Exported ${name}.`);
  } catch (error) {
    if (abort.signal.aborted) tellDone("The export was cancelled.");
    else tellFailure(error);
  } finally {
    runningExport.value = undefined;
  }
}

/** Unlike `pipeTo`, it can be cancelled until the last byte is written. */
async function write(
  body: ReadableStream<Uint8Array>,
  target: WritableStream<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const writer = target.getWriter();
  try {
    for await (const chunk of body) {
      await writer.write(chunk);
      signal.throwIfAborted();
    }
    await writer.close();
  } catch (error) {
    await writer.abort(error).catch(() => {});
    throw error;
  }
}

/** Undefined for a download. */
async function targetFor(
  name: string,
  total: number | undefined,
): Promise<WritableStream<Uint8Array> | "cancelled" | undefined> {
  const pick = (globalThis as { showSaveFilePicker?: Picker }).showSaveFilePicker;
  if (pick === undefined || (total !== undefined && total <= manyRows)) return undefined;
  try {
    return await (await pick({ suggestedName: name })).createWritable();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return "cancelled";
    throw error;
  }
}

/** Counts lines and bytes on their way. */
function counter(): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    transform(chunk, controller) {
      const { rows, bytes, ...rest } = runningExport.peek() ?? emptyExport;
      const lines = chunk.reduce((count, byte) => (byte === 10 ? count + 1 : count), 0);
      runningExport.value = { ...rest, rows: rows + lines, bytes: bytes + chunk.length };
      controller.enqueue(chunk);
    },
  });
}

const emptyExport: RunningExport = {
  ...{ name: "", rows: 0, bytes: 0, total: undefined },
  cancel: () => {},
};

const heldUrlMs = 60_000;

function download(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), heldUrlMs);
}
