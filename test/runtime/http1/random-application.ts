// An application that reads bodies and responds in every way there is, at random, and says what it did.

import { type Reply, ReplyFields, replyOf, SharedFields } from "../../../src/lib/reply.ts";
import { responseOf } from "../web-reply.ts";
import { progress, turn } from "./fake-socket.ts";
import { type Choices, randomBytes } from "./random-requests.ts";

const readings = ["all", "stream", "none", "half", "late"] as const;
const answers = ["text", "bytes", "plain", "stream", "sized stream", "empty", "throws"] as const;

/** More than what is sent as a copy with its framing. */
const largeBytes = 60_000;

/** What the application did with one request. */
export interface Handled {
  readonly method: string;
  readonly url: string;
  readonly request: Request;
  readonly reading: (typeof readings)[number];
  readonly answer: (typeof answers)[number];
  /** What it read of the body; undefined after an error. */
  body: Buffer | undefined;
  readonly status: number;
  readonly content: Buffer;
  /** How its stream ended. */
  stream: "none" | "open" | "read" | "cancelled";
}

export class RandomApplication {
  readonly handled: Handled[] = [];
  /** Promises that are not settled. */
  pending = 0;
  readonly #choices: Choices;

  constructor(choices: Choices) {
    this.#choices = choices;
  }

  readonly fetch = (request: Request): Response | Reply | Promise<Response | Reply> => {
    progress();
    const choices = this.#choices;
    const answer = choices.of(answers);
    const text = `${this.handled.length} ${choices.text("abcäß€𝄞\r\n\0", choices.of([5, 3_000]))}`;
    const isText = answer === "text" || answer === "plain";
    const handled: Handled = {
      method: request.method,
      url: request.url,
      request,
      reading: request.body === null ? "none" : choices.of(readings),
      answer,
      body: undefined,
      status: answer === "throws" ? 500 : answer === "empty" ? choices.of([200, 204, 304]) : 201,
      content: isText
        ? Buffer.from(text)
        : randomBytes(choices, choices.of([10, 10, 2_000, 2_000, largeBytes])),
      stream: "none",
    };
    this.handled.push(handled);
    if (handled.reading === "none" && choices.isTrue(0.5)) return this.#respond(handled);
    return this.#watch(this.#handle(handled));
  };

  async #watch<T>(work: Promise<T>): Promise<T> {
    this.pending++;
    try {
      return await work;
    } finally {
      this.pending--;
      progress();
    }
  }

  async #handle(handled: Handled): Promise<Response | Reply> {
    await this.#wait();
    if (handled.reading === "late") void this.#watch(this.#read(handled)).catch(() => undefined);
    else await this.#read(handled);
    await this.#wait();
    return this.#respond(handled);
  }

  async #wait(): Promise<void> {
    for (let turns = this.#choices.below(3); turns > 0; turns--) await turn();
  }

  async #read(handled: Handled): Promise<void> {
    const { request, reading } = handled;
    if (reading === "none") return;
    if (reading === "all") handled.body = Buffer.from(await request.bytes());
    const parts: Uint8Array[] = [];
    if (reading !== "all" && request.body !== null)
      for await (const part of request.body) {
        parts.push(part);
        progress();
        if (reading === "half") return;
        await this.#wait();
      }
    if (reading === "stream" || reading === "late") handled.body = Buffer.concat(parts);
  }

  #respond(handled: Handled): Response | Reply {
    const { answer, status, content } = handled;
    const headers = { "X-Number": String(this.handled.length - 1), "X-Bytes": "\xe4\x80\xff" };
    if (answer === "throws") throw new Error("not handled");
    if (answer === "empty") return new Response(null, { status, headers });
    if (answer === "text") return responseOf(content.toString(), { status, headers });
    if (answer === "bytes") return responseOf(new Uint8Array(content), { status, headers });
    if (answer === "plain") {
      return replyOf(
        status,
        new ReplyFields(new SharedFields(Object.entries(headers))),
        this.#choices.isTrue(0.5) ? content.toString() : new Uint8Array(content),
      );
    }
    const length = { "Content-Length": String(content.length) };
    const fields = answer === "stream" ? headers : { ...headers, ...length };
    return new Response(this.#stream(handled), { status, headers: fields });
  }

  #stream(handled: Handled): ReadableStream<Uint8Array> {
    const { content } = handled;
    let at = 0;
    let last: Uint8Array | undefined;
    const sizes = content.length > 2_000 ? [content.length] : [4, 3_000];
    handled.stream = "open";
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          await this.#wait();
          progress();
          // A chunk that was sent may be used for something else.
          last?.fill(0);
          const size = this.#choices.below(this.#choices.of(sizes));
          if (at >= content.length) {
            handled.stream = "read";
            controller.close();
          } else {
            last = new Uint8Array(content.subarray(at, at + size));
            controller.enqueue(last);
          }
          at += size;
        },
        cancel: () => {
          handled.stream = "cancelled";
          progress();
        },
      },
      { highWaterMark: 0 },
    );
  }
}

/** The content that a client gets. */
export const contentOf = ({ answer, status, content, method }: Handled): Buffer | undefined => {
  if (method === "HEAD" || answer === "empty") return Buffer.alloc(0);
  return status === 500 ? undefined : content;
};
