// Answers of a real PocketBase, which pocketbase.long.test.ts has recorded.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Answer {
  readonly type: string;
  readonly body?: unknown;
  readonly base64?: string;
}

export interface Recorded {
  readonly url: string;
  /** Requests that were not recorded. */
  readonly unknown: readonly string[];
  stop(): void;
}

export async function serveRecorded(): Promise<Recorded> {
  const file = new URL("pocketbase.json", import.meta.url);
  const answers: Readonly<Record<string, Answer>> = JSON.parse(await readFile(file, "utf8"));
  const unknown: string[] = [];
  const server = createServer((request, response) => {
    const key = `${request.method} ${request.url}`;
    const answer = answers[key];
    const isSignIn = key.includes("auth-with-password");
    if (answer === undefined) unknown.push(key);
    if (!isSignIn && !key.includes("?token=") && request.headers.authorization !== "secret")
      unknown.push(`${key} without its token`);
    response.writeHead(answer === undefined ? 404 : 200, { "content-type": answer?.type ?? "" });
    response.end(
      answer?.base64 === undefined
        ? JSON.stringify(answer?.body)
        : Buffer.from(answer.base64, "base64"),
    );
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, unknown, stop: () => void server.close() };
}
