// A multipart body taken apart while it arrives (RFC 2046 §5.1): one part after the other, at constant memory.

import { Dicer } from "@fastify/busboy";
import { Problem } from "../../model/problem.ts";
import { Undecodable } from "./decoding.ts";

/** Of one part's header section. */
export const maxPartHeaderBytes = 8_192;

export interface RawPart {
  /** By name in lower case; the first of each. */
  readonly headers: ReadonlyMap<string, string>;
  /** To be read to its end before the next part is asked for. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Throws `Undecodable` for what is no multipart body, and whatever the body throws. */
export async function* partsOf(
  body: AsyncGenerator<Uint8Array>,
  boundary: string,
): AsyncGenerator<RawPart, void, undefined> {
  const queue = new Queue<RawPart>();
  const dicer = new Dicer({ boundary });
  let latest: Dicer.PartStream | undefined;
  const fail = (thrown: unknown) => {
    queue.fail(thrown);
    // Whoever reads the part that broke off must not take it for the whole.
    latest?.destroy(thrown instanceof Error ? thrown : new Error(String(thrown)));
  };
  let isHeaded = true;
  const failUnlessHeaded = () => {
    if (!isHeaded) fail(new Undecodable(headless));
  };
  dicer.on("part", (part) => {
    failUnlessHeaded();
    isHeaded = false;
    latest = part;
    // Told to the reader; without a reader there would be nobody to hear it.
    part.on("error", () => undefined);
    part.on("header", (header) => {
      isHeaded = true;
      queue.push({ headers: headersOf(header), bytes: part });
    });
  });
  dicer.on("error", () => fail(new Undecodable(brokenOff)));
  const finished = new Promise<"finished">((resolve) => {
    dicer.on("finish", () => {
      failUnlessHeaded();
      resolve("finished");
    });
  });
  void finished.then(() => queue.end());
  const fed = feed(body, dicer, finished).catch(fail);
  try {
    yield* queue.all();
    // The rest of the body, which says whether all of it came as it was sent.
    await fed;
    queue.check();
  } finally {
    latest?.destroy();
    void body.return(undefined);
  }
}

/** The next chunk is taken when the last one is through: a slow reader slows the sender down. */
async function feed(
  body: AsyncIterable<Uint8Array>,
  dicer: Dicer,
  finished: Promise<"finished">,
): Promise<void> {
  let isOver = false;
  for await (const chunk of body) {
    // What follows the last boundary means nothing; Dicer does not even say that it has taken it.
    if (isOver) continue;
    const taken = new Promise<void>((resolve, reject) => {
      dicer.write(chunk, (error) => (error ? reject(error) : resolve()));
    });
    isOver = (await Promise.race([taken, finished])) === "finished";
  }
  if (!isOver) dicer.end();
}

/** As they were written; what is too long was cut off, so it is counted by what is left. */
function headersOf(header: object): ReadonlyMap<string, string> {
  const fields = Object.entries(header as Readonly<Record<string, readonly string[]>>);
  return new Map(fields.map(([name, [first = ""]]) => [name, first]));
}

const broken = (detail: string): Problem =>
  new Problem("invalid-body", "The body is not a whole multipart body. Nothing was stored.", {
    errors: [{ pointer: "", detail }],
  });

const brokenOff = broken("it ends before the closing boundary that Content-Type names");
/** Dicer would pass it over in silence. */
const headless = broken("a part has no header (RFC 2046 §5.1)");

/** What was put in, for one reader who waits for more. */
class Queue<T> {
  readonly #items: T[] = [];
  #isEnded = false;
  #failure: { readonly thrown: unknown } | undefined;
  #news = Promise.withResolvers<void>();

  push(item: T): void {
    this.#items.push(item);
    this.#news.resolve();
  }

  end(): void {
    this.#isEnded = true;
    this.#news.resolve();
  }

  /** The first failure is the one that counts. */
  fail(thrown: unknown): void {
    this.#failure ??= { thrown };
    this.#news.resolve();
  }

  check(): void {
    if (this.#failure !== undefined) throw this.#failure.thrown;
  }

  async *all(): AsyncGenerator<T, void, undefined> {
    for (;;) {
      this.check();
      const item = this.#items.shift();
      if (item !== undefined) yield item;
      else if (this.#isEnded) return;
      else {
        await this.#news.promise;
        this.#news = Promise.withResolvers();
      }
    }
  }
}
