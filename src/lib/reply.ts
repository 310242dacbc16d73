// What a handler answers, as plain data. The HTTP/1.1 layer writes it; an embedding program gets it as a Response.

import type { ReplyFields } from "./reply-fields.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Text and bytes are written with the header section, a stream as fast as the client reads it. A Blob is for
 * the runtime of an embedding program, which sends a file faster than a stream. Here is the place of a body
 * that stays open for frames which many connections share.
 */
export type ReplyBody = string | Bytes | ReadableStream<Uint8Array> | Blob | null;

/** The validators of a state. */
export interface Validators {
  /** Empty when it is not known. */
  readonly etag: string;
  /** Undefined when there is no date to compare (RFC 9110 §13.1.3, §13.1.4). */
  readonly updatedAt: number | undefined;
  /**
   * Whether no other state has the same date. Two changes within a second share it, and so does a
   * change whose time was adjusted because the clock was behind (see store/times.ts).
   */
  readonly isDateExact: boolean;
  /** Whether a tag is that of the same state as other callers see it. */
  readonly isOtherTag?: (tag: string) => boolean;
}

/** For whom and how long a reply may be repeated. `Access` is what the application knows of a caller. */
export interface Repeat<Access = never> {
  /**
   * Whether the caller may read the state that the reply shows, and it has not changed. Answers at once or
   * not at all: false where the store has to be waited for.
   */
  readonly isCurrentFor: (access: Access) => boolean;
  /** Whether that asks for nothing but the collection in the path. */
  readonly isOfOneCollection?: boolean;
  /** How the resource is shown; to others it may be shown with other fields. */
  readonly mask?: object;
  /** Whether others get another reply, because the caller sees a part of a collection. */
  readonly isOwn?: boolean;
}

export interface Reply {
  readonly status: number;
  /** The pipeline adds to them, so each reply that is sent has its own. */
  readonly fields: ReplyFields;
  readonly body: ReplyBody;
  /** Those of the state that it shows. */
  readonly validators: Validators | undefined;
  /** Undefined where it must not be repeated. */
  readonly repeat: Repeat | undefined;
}

/** Makes a reply. All have the same members, which keeps them cheap. */
export const replyOf = <Body extends ReplyBody = null>(
  status: number,
  fields: ReplyFields,
  body: Body = null as Body,
  validators?: Validators,
  repeat?: Repeat,
): Reply & { readonly body: Body } => ({ status, fields, body, validators, repeat });

/** Returns a kept reply with fields of its own, to be sent. */
export const again = ({ status, fields, body, validators, repeat }: Reply): Reply =>
  replyOf(status, fields.copy(), body, validators, repeat);

/** Ends a body that is not sent. */
export function discard({ body }: Reply): void {
  if (body instanceof ReadableStream) body.cancel().catch(() => undefined);
}

/** Returns the reply as an embedding program gets it. Node sends a body of unknown length in chunks, also an empty one. */
export function responseOf({ status, fields, body }: Reply): Response {
  const hasLength =
    body !== null || status === 204 || status === 304 || fields.has("content-length");
  const headers = [...fields];
  if (!hasLength) headers.push(["content-length", "0"]);
  return new Response(body, { status, headers });
}
