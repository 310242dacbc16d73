// Sends a file with its progress. A large one is sent in parts, and goes on where it stopped when the server is back.

import { type ApiRequest, root, send, signedHeaders, urlOf } from "./client.ts";
import { connection, reportLoss } from "./connection.ts";
import { offline, Problem } from "./problem.ts";

const partBytes = 8_000_000;

export interface FileRequest extends ApiRequest {
  readonly body: Blob;
}

/** Gets the number of bytes that were sent. */
type Progress = (sent: number) => void;

/** Throws a `Problem` when the server does not accept the file. */
export async function uploadFile(
  request: FileRequest,
  onProgress: Progress,
  signal: AbortSignal,
): Promise<void> {
  if (request.body.size <= partBytes)
    await transmit(urlOf(request.path), request, onProgress, signal);
  else await uploadParts(request, onProgress, signal);
}

/** Resumable Uploads for HTTP: the request itself with the first part, then PATCH of what it names. */
async function uploadParts(
  { body: file, ...request }: FileRequest,
  onProgress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const headers = { ...request.headers, "Upload-Complete": "?0", "Upload-Length": `${file.size}` };
  const first = { ...request, headers, body: file.slice(0, partBytes) };
  const begun = await transmit(urlOf(request.path), first, onProgress, signal);
  const upload = new URL(begun.getResponseHeader("location") ?? "", root);
  signal.addEventListener(
    "abort",
    () => void fetch(upload, { method: "DELETE", headers: signed() }),
  );
  let offset: number | undefined = partBytes;
  while (offset !== undefined) offset = await sendPart(upload, file, offset, onProgress, signal);
}

const signed = (): Record<string, string> => signedHeaders({ method: "GET", path: "/" });

/** Returns where the next part begins, or undefined at the end. */
async function sendPart(
  upload: URL,
  file: Blob,
  offset: number,
  onProgress: Progress,
  signal: AbortSignal,
): Promise<number | undefined> {
  const end = Math.min(offset + partBytes, file.size);
  const isLast = end === file.size;
  const headers = {
    "Content-Type": "application/partial-upload",
    "Upload-Offset": `${offset}`,
    "Upload-Complete": isLast ? "?1" : "?0",
  };
  const part = { method: "PATCH", path: "", headers, body: file.slice(offset, end) };
  try {
    await transmit(upload, part, (sent) => onProgress(offset + sent), signal);
    return isLast ? undefined : end;
  } catch (error) {
    if (!(error instanceof Problem) || error.status > 0) throw error;
    return findOffset(upload, signal);
  }
}

/** Waits for the server, and asks how much has arrived. */
async function findOffset(upload: URL, signal: AbortSignal): Promise<number | undefined> {
  await isOnline(signal);
  const { headers } = await fetch(upload, { method: "HEAD", headers: signed(), signal });
  if (headers.get("upload-complete") === "?1") return undefined;
  return Number(headers.get("upload-offset"));
}

const isOnline = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = connection.subscribe((state) => {
      if (state !== "online") return;
      queueMicrotask(() => stop());
      resolve();
    });
    signal.addEventListener("abort", () => {
      stop();
      reject(signal.reason);
    });
  });

/** `fetch` does not say how much of a body was sent. */
function transmit(
  url: URL,
  request: FileRequest,
  onProgress: Progress,
  signal: AbortSignal,
): Promise<XMLHttpRequest> {
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    sending.open(request.method, url);
    for (const [name, value] of Object.entries(signedHeaders(request)))
      sending.setRequestHeader(name, value);
    sending.upload.onprogress = ({ loaded }) => onProgress(loaded);
    sending.onload = () => (sending.status < 300 ? resolve(sending) : reject(problemOf(sending)));
    sending.onerror = () => {
      reportLoss("offline", urlOf("/-/ready").href);
      reject(offline());
    };
    sending.onabort = () => reject(signal.reason);
    signal.addEventListener("abort", () => sending.abort());
    sending.send(request.body);
  });
}

function problemOf({ status, responseText }: XMLHttpRequest): Problem {
  try {
    return new Problem(status, JSON.parse(responseText));
  } catch {
    return new Problem(status, {});
  }
}

/** The bytes of a file, or some of them. */
export async function readFile(path: string, signal: AbortSignal, range?: string): Promise<Blob> {
  const headers = range === undefined ? {} : { Range: range };
  return (await send({ method: "GET", path, headers }, signal)).blob();
}
