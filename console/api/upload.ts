// Sends a file with its progress. A large one is sent in parts, and goes on where it stopped when the server is back.

import { isRepeatedPart } from "../../client/problem-body.ts";
import { type ApiRequest, root, send, signedHeaders, urlOf } from "./client.ts";
import { reportLoss, untilOnline } from "./connection.ts";
import { offline, Problem } from "./problem.ts";
import { renewToken, token } from "./session.ts";

/** A smaller file is sent at once. */
const smallBytes = 1_000_000;
const partBytes = 8_000_000;

export interface FileRequest extends ApiRequest {
  readonly body: Blob;
}

/** Gets the number of bytes that were sent. */
type ReportSent = (sent: number) => void;

/** Throws a `Problem` when the server does not accept the file. */
export const uploadFile = (
  request: FileRequest,
  onProgress: ReportSent,
  signal: AbortSignal,
): Promise<void> =>
  request.body.size <= smallBytes
    ? uploadAtOnce(request, onProgress, signal)
    : uploadParts(request, onProgress, signal);

/** After a loss nobody knows whether it has arrived, so it is not sent again by itself. */
async function uploadAtOnce(
  request: FileRequest,
  onProgress: ReportSent,
  signal: AbortSignal,
): Promise<void> {
  const secret = token.peek();
  try {
    await transmit(urlOf(request.path), request, onProgress, signal);
  } catch (error) {
    if (isLoss(error)) throw error;
    await overcome(error, secret, signal);
    await uploadAtOnce(request, onProgress, signal);
  }
}

const isLoss = (error: unknown): boolean => error instanceof Problem && error.status === 0;

/** Waits until what was in the way is gone: the server is back, or there is another token. Throws what stays. */
async function overcome(
  error: unknown,
  secret: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (isLoss(error)) return untilOnline(signal);
  const isRefused = error instanceof Problem && error.status === 401;
  if (!isRefused || !secret || !(await renewToken(secret))) throw error;
}

/** Resumable Uploads for HTTP: the request itself without a byte, then PATCH of what its answer names. */
async function uploadParts(
  request: FileRequest,
  onProgress: ReportSent,
  signal: AbortSignal,
): Promise<void> {
  const upload = await beginParts(request, signal);
  signal.addEventListener(
    "abort",
    () => void fetch(upload, { method: "DELETE", headers: signed() }),
  );
  let offset: number | undefined = 0;
  while (offset !== undefined)
    offset = await sendPart(upload, request.body, offset, onProgress, signal);
}

async function beginParts(request: FileRequest, signal: AbortSignal): Promise<URL> {
  const length = `${request.body.size}`;
  const headers = { ...request.headers, "Upload-Complete": "?0", "Upload-Length": length };
  const secret = token.peek();
  try {
    const first = { ...request, headers, body: new Blob() };
    const begun = await transmit(urlOf(request.path), first, () => {}, signal);
    return new URL(begun.getResponseHeader("location") ?? "", root);
  } catch (error) {
    await overcome(error, secret, signal);
    return beginParts(request, signal);
  }
}

const signed = (): Record<string, string> => signedHeaders({ method: "GET", path: "/" });

/** Returns where the next part begins, or undefined at the end. */
async function sendPart(
  upload: URL,
  file: Blob,
  offset: number,
  onProgress: ReportSent,
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
  const secret = token.peek();
  try {
    await transmit(upload, part, (sent) => onProgress(offset + sent), signal);
    return isLast ? undefined : end;
  } catch (error) {
    const isRepeated = error instanceof Problem && isRepeatedPart(error.kind);
    if (!isRepeated) await overcome(error, secret, signal);
    const found = await findOffset(upload, signal);
    if (isRepeated && found === offset) throw error;
    return found;
  }
}

/** Asks how much has arrived. */
async function findOffset(upload: URL, signal: AbortSignal): Promise<number | undefined> {
  const secret = token.peek();
  try {
    const found = await transmit(upload, { method: "HEAD", path: "" }, () => {}, signal);
    if (found.getResponseHeader("upload-complete") === "?1") return undefined;
    return Number(found.getResponseHeader("upload-offset"));
  } catch (error) {
    await overcome(error, secret, signal);
    return findOffset(upload, signal);
  }
}

/** `fetch` does not say how much of a body was sent. */
function transmit(
  url: URL,
  request: ApiRequest & { readonly body?: Blob },
  onProgress: ReportSent,
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
    sending.send(request.body ?? null);
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
