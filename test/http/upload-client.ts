// A client of resumable uploads: sends pieces, cuts connections, and resumes where the server is.

import assert from "node:assert/strict";
import { openConnection, type RawConnection } from "../runtime/raw-connection.ts";
import { type Answer, answerOf } from "./expect.ts";

type Fields = Readonly<Record<string, string>>;

export interface Target {
  readonly port: number;
  request(path: string, init?: RequestInit & { token?: string | null }): Promise<Response>;
}

export const partial = { "content-type": "application/partial-upload" };
export const more = { "upload-complete": "?0" };
export const last = { "upload-complete": "?1" };
export const at = (offset: number): Fields => ({ "upload-offset": String(offset) });

export class UploadClient {
  readonly #target: Target;
  readonly #token: string | null | undefined;

  constructor(target: Target, token?: string | null) {
    this.#target = target;
    this.#token = token;
  }

  send(
    method: string,
    path: string,
    headers: Fields = {},
    body?: Uint8Array | string,
  ): Promise<Answer> {
    const token = this.#token === undefined ? {} : { token: this.#token };
    const sent = body === undefined ? {} : { body: body as Buffer<ArrayBuffer> };
    return answerOf(this.#target.request(path, { method, headers, ...token, ...sent }));
  }

  /** Begins an upload, and returns its path. */
  async begin(path: string, headers: Fields, body: Uint8Array = new Uint8Array()): Promise<string> {
    const {
      status,
      headers: fields,
      body: text,
    } = await this.send("POST", path, { ...more, ...headers }, body);
    assert.equal(status, 201, text);
    assert.equal(fields.get("upload-complete"), "?0");
    assert.equal(fields.get("upload-offset"), String(body.byteLength));
    return fields.get("location") ?? "";
  }

  patch(path: string, offset: number, body: Uint8Array, headers: Fields = more): Promise<Answer> {
    return this.send("PATCH", path, { ...partial, ...at(offset), ...headers }, body);
  }

  async offset(path: string): Promise<number> {
    const { status, headers } = await this.send("HEAD", path);
    assert.equal(status, 204, path);
    return Number(headers.get("upload-offset"));
  }
}

/** Sends the head of a request and a part of its body, and leaves the connection open. */
export async function sendPart(
  port: number,
  [method, path]: readonly [string, string],
  headers: Fields,
  body: Uint8Array,
): Promise<RawConnection> {
  const wire = await openConnection(port);
  const lines = Object.entries({ host: "127.0.0.1", ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  wire.write(`${method} ${path} HTTP/1.1\r\n${head}\r\n`);
  wire.write(body);
  return wire;
}
