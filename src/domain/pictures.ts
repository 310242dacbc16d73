// Renders the pictures among the files in the sizes of the definition, and describes them; each result is made once and kept.

import { RecentMap } from "../lib/recent-map.ts";
import { definitionOf } from "../model/definition.ts";
import type { StoredFile } from "../model/file.ts";
import { isLate, Outage } from "../model/outage.ts";
import {
  formatOf,
  isSameSize,
  type PictureFormat,
  type PictureRequest,
  type PictureSize,
  pictureTypes,
  sizeText,
} from "../model/picture.ts";
import { Problem } from "../model/problem.ts";
import { bytesOf, type Files, type FindReferenced, MissingFile } from "../store/files.ts";
import type { CachedPicture, HasRoom, PictureCache } from "../store/pictures/cache.ts";
import { type PictureTask, pictureLimits } from "../store/pictures/job.ts";
import { withoutTexts } from "../store/pictures/png-texts.ts";
import { NoRenderer, type RendererProcess } from "../store/pictures/renderer.ts";
import { QueryQueue } from "../store/query-queue.ts";
import type { CollectionAccess } from "./collection-access.ts";
import { overloaded } from "./problems.ts";

/** A rendered picture; undefined when the bytes of its original are missing. */
type Made = CachedPicture | Problem | undefined;

type PictureRenderer = Pick<RendererProcess, "run" | "close">;

/** One at a time, the callers in turn. */
const limits = { running: 1, waiting: 200, waitingPerCaller: 50, deadlineMs: 60_000 };
const maxFailures = 1_000;
/** Part of the names in the cache. It changes when the same request means another picture. */
const version = 1;

export class Pictures {
  readonly #files: Files;
  readonly #cache: PictureCache;
  readonly #renderer: PictureRenderer;
  readonly #queue = new QueryQueue(limits);
  /** What is being made, so that equal requests share it. */
  readonly #making = new Map<string, Promise<Made>>();
  /** Why pictures cannot be rendered, so that none is tried again and again. */
  readonly #failures = new RecentMap<string, Problem>(maxFailures);

  constructor(files: Files, cache: PictureCache, renderer: PictureRenderer) {
    this.#files = files;
    this.#cache = cache;
    this.#renderer = renderer;
  }

  /** `hasRoom` is asked before a picture is read into memory. */
  async render(
    access: CollectionAccess,
    file: StoredFile,
    request: PictureRequest,
    caller: string,
    hasRoom: HasRoom = () => true,
  ): Promise<(CachedPicture & { readonly format: PictureFormat }) | Problem | undefined> {
    const forbidden = access.require("read") ?? checkSize(access, request);
    if (forbidden !== undefined) return forbidden;
    const format = formatOf(file.type);
    if (format === undefined) return notPicture(request.width ? "width" : "height", file);
    const task = { kind: "render", ...request, format: request.format ?? format } as const;
    const made = await this.#get(file, task, caller, hasRoom);
    return made === undefined || made instanceof Problem ? made : { ...made, format: task.format };
  }

  /** Returns a text of JSON with width, height and preview. */
  async describe(access: CollectionAccess, file: StoredFile, caller: string): Promise<Made> {
    const forbidden = access.require("read") ?? requirePictures(access);
    if (forbidden !== undefined) return forbidden;
    if (formatOf(file.type) === undefined) return notPicture("description", file);
    return this.#get(file, { kind: "describe" }, caller);
  }

  /** Removes what was rendered from files that are removed. */
  forget(keys: readonly string[]): Promise<void> {
    return this.#cache.remove(keys).catch(() => undefined);
  }

  /** Removes what is left of files that no resource refers to any more. */
  async sweep(findReferenced: FindReferenced): Promise<void> {
    for await (const keys of this.#cache.keys()) {
      const referenced = await findReferenced(keys);
      await this.forget(keys.filter((key) => !referenced.has(key)));
    }
  }

  async close(): Promise<void> {
    this.#renderer.close();
    await this.#queue.close();
  }

  async #get(
    file: StoredFile,
    task: PictureTask,
    caller: string,
    hasRoom: HasRoom = () => true,
  ): Promise<Made> {
    const name = nameOf(file, task);
    const cached = await this.#cache.read(name, hasRoom);
    if (cached !== undefined) return cached === "no-room" ? overloaded : cached;
    const made = await (this.#failures.get(name) ??
      this.#making.get(name) ??
      this.#begin(name, file, task, caller));
    const isPicture = made !== undefined && !(made instanceof Problem);
    return isPicture && !hasRoom(made.bytes.length) ? overloaded : made;
  }

  #begin(name: string, file: StoredFile, task: PictureTask, caller: string): Promise<Made> {
    const made = this.#queue
      .run({ caller }, () => this.#makeOrMiss(name, file, task))
      .catch(explain)
      .finally(() => this.#making.delete(name));
    this.#making.set(name, made);
    return made;
  }

  /** A file that is replaced or removed meanwhile is missing, whatever failed because of it. */
  async #makeOrMiss(name: string, file: StoredFile, task: PictureTask): Promise<Made> {
    try {
      return await this.#make(name, file, task);
    } catch (error) {
      if (error instanceof MissingFile) return undefined;
      if ((await this.#files.size(file.key)) === undefined) return undefined;
      throw error;
    }
  }

  async #make(name: string, file: StoredFile, task: PictureTask): Promise<Made> {
    if (file.size > pictureLimits.maxBytes) return unprocessable("it has more than 64 MiB");
    const bytes = withoutTexts(bytesOf(() => this.#files.open(file.key)));
    const [input, output] = [await this.#cache.write(bytes), await this.#cache.newPath()];
    try {
      const reason = await this.#renderer.run({ input, output, task });
      if (reason !== undefined) return this.#fail(name, reason);
      const made = await this.#cache.add(output, name);
      // Somebody may have removed the file, and what was rendered from it before.
      const isGone = (await this.#files.size(file.key)) === undefined;
      if (isGone) await this.forget([file.key]);
      if (isGone) return undefined;
      if (made === undefined)
        throw new Outage("unavailable", "a rendered picture was removed immediately");
      return made;
    } finally {
      await Promise.all([this.#cache.discard(input), this.#cache.discard(output)]);
    }
  }

  #fail(name: string, reason: string): Problem {
    const problem = unprocessable(reason);
    this.#failures.set(name, problem);
    return problem;
  }
}

function nameOf({ key }: StoredFile, task: PictureTask): string {
  if (task.kind === "describe") return `${key}.${version}.description`;
  const { width = "", height = "", fit, format } = task;
  return `${key}.${version}.${width}x${height}.${fit}.${format}`;
}

function explain(error: unknown): Problem {
  if (error instanceof NoRenderer) return noRenderer;
  if (isLate(error)) return crowded;
  throw error;
}

const invalid = (parameter: string, detail: string): Problem =>
  new Problem("invalid-parameter", "The query string is not valid; `errors` lists each error.", {
    errors: [{ parameter, detail }],
  });

/** Checks the size before anything is read. */
function checkSize({ name, rules }: CollectionAccess, size: PictureSize): Problem | undefined {
  const sizes = (rules && definitionOf(rules).pictures?.sizes) ?? [];
  if (sizes.some((one) => isSameSize(one, size))) return undefined;
  const declared =
    sizes.length === 0
      ? `The definition of the collection "${name}" declares no sizes of pictures`
      : `The definition declares other sizes: ${sizes.map(sizeText).join(", ")}`;
  return invalid(size.width === undefined ? "height" : "width", `${declared}.`);
}

function requirePictures({ name, rules }: CollectionAccess): Problem | undefined {
  if (rules !== undefined && definitionOf(rules).pictures !== undefined) return undefined;
  return invalid(
    "description",
    `The definition of the collection "${name}" does not say "pictures".`,
  );
}

const notPicture = (parameter: string, { type }: StoredFile): Problem =>
  invalid(parameter, `The file is ${type}. This is for ${pictureTypes.join(", ")}.`);

const unprocessable = (reason: string): Problem =>
  new Problem("unprocessable-picture", `The picture cannot be rendered: ${reason}.`);

const noRenderer = new Problem(
  "not-implemented",
  "This server cannot render pictures: the package sharp is missing, as it is in a single executable, or does not fit the machine. The file itself can be downloaded, without parameters.",
);

const crowded = new Problem(
  "unavailable",
  "Too many pictures are waiting to be rendered. Try again later.",
);
