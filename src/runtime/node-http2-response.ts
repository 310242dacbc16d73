// Sends a response on a stream of HTTP/2.

import type { OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { checkValue } from "../lib/field-lines.ts";
import { type PlainBody, PlainResponse, plainBody } from "../lib/plain-response.ts";
import { ownFields } from "./http1/response-head.ts";
import { BodySender, hasBody, isBodiless, lengthOf } from "./http1/response-sender.ts";
import { Output } from "./http1/socket.ts";
import { NodeWriter } from "./node-socket.ts";

/** `close` with an error would end the response first, so that it would look complete. */
export const resetStream = (stream: ServerHttp2Stream): void => {
  stream.destroy(new Error("The response is not complete."));
};

/** Sends the rest of a response. */
export interface Sender {
  cancel(): void;
}

const ignore = (): void => undefined;

/** Returns what sends the rest of a response. Throws if a field is not valid. */
export function respond(
  stream: ServerHttp2Stream,
  response: Response,
  method: string,
): Sender | undefined {
  const { status, headers } = response;
  const content = knownContent(response);
  if (stream.closed) response.body?.cancel().catch(ignore);
  else if (content === undefined) return respondWithStream(stream, response, method);
  else {
    const bytes = Buffer.byteLength(content);
    const length = isBodiless(status) ? undefined : lengthOf(headers, method, bytes);
    const isSent = bytes > 0 && hasBody(status, method);
    stream.respond(fieldsOf(response, length), { endStream: !isSent });
    if (isSent) stream.end(content);
    closeIfUnread(stream);
  }
  return undefined;
}

/** Undefined when it is a stream. */
function knownContent(response: Response): PlainBody | undefined {
  if (response instanceof PlainResponse) return response.content ?? "";
  return plainBody(response) ?? (response.body === null ? "" : undefined);
}

/** The rest of the body does not come then. Node does so itself where nothing was read. */
function closeIfUnread(stream: ServerHttp2Stream): void {
  if (stream.readableFlowing !== null && !stream.readableEnded) stream.close();
}

function respondWithStream(
  stream: ServerHttp2Stream,
  response: Response,
  method: string,
): Sender | undefined {
  const { status, headers, body } = response;
  const declared = headers.get("content-length");
  const bytes = declared === null ? undefined : Number(declared);
  const isSent = hasBody(status, method);
  const fields = fieldsOf(response, bytes);
  const reader = body?.getReader();
  stream.respond(fields, { endStream: !isSent });
  if (reader === undefined || !isSent) {
    reader?.cancel().catch(ignore);
    return undefined;
  }
  const output: Output = new Output(new NodeWriter(stream, () => output.drain()));
  const sender = new BodySender(reader, output, { bytes, isChunked: false });
  void sender.send().then((isWhole) => {
    if (!isWhole) return resetStream(stream);
    stream.end();
    closeIfUnread(stream);
  });
  return {
    cancel: () => {
      sender.cancel();
      output.abandon();
    },
  };
}

/** HTTP/2 has no fields of the connection (RFC 9113 §8.2.2). Node adds Date. */
function fieldsOf({ status, headers }: Response, bytes: number | undefined): OutgoingHttpHeaders {
  const fields: OutgoingHttpHeaders = { ":status": status };
  const cookies: string[] = [];
  headers.forEach((value, name) => {
    checkValue(value);
    if (name === "set-cookie") cookies.push(value);
    else if (!ownFields.has(name)) fields[name] = value;
  });
  if (cookies.length > 0) fields["set-cookie"] = cookies;
  if (bytes !== undefined) fields["content-length"] = bytes;
  return fields;
}
