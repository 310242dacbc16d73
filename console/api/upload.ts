// Sends a file, a large one in parts, and goes on where it stopped when the server is back; reads one.

import { CollectionFile } from "../../client/file.ts";
import { fetchHere, send, senderWith } from "./client.ts";
import { untilOnline } from "./connection.ts";

/** A smaller file is sent at once. */
const leastPart = 500_000;
const largestPart = 8_000_000;
/** So that its progress is seen. */
const wantedParts = 50;

/** What has a body is not: after a loss nobody knows whether it has arrived. */
async function fetchWhenOnline(...request: Parameters<typeof fetchHere>): Promise<Response> {
  const [, { body, signal } = {}] = request;
  try {
    return await fetchHere(...request);
  } catch (error) {
    if (body || signal?.aborted) throw error;
    await untilOnline(signal);
    return fetchWhenOnline(...request);
  }
}

const uploads = senderWith(fetchWhenOnline);

/** Gets the number of bytes that were sent to `onProgress`. Throws a `Problem` when the server does not accept the file. */
export const uploadFile = (
  path: string,
  file: File,
  headers: Readonly<Record<string, string>>,
  onProgress: (sent: number) => void,
  signal: AbortSignal,
): Promise<void> => {
  const partBytes = Math.min(Math.max(file.size / wantedParts, leastPart), largestPart);
  const options = { partBytes: Math.ceil(partBytes), headers, onProgress, signal };
  return new CollectionFile(uploads, path).put(file, options);
};

/** The bytes of a file, or some of them. */
export async function readFile(path: string, signal: AbortSignal, range?: string): Promise<Blob> {
  const headers = range === undefined ? {} : { Range: range };
  return (await send({ method: "GET", path, headers }, signal)).blob();
}
