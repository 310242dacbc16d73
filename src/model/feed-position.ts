// Encodes and decodes a client's position in the change feed of a collection.

export interface FeedPosition {
  /** The history of the collection that the revision belongs to. Only the store interprets it. */
  readonly epoch: string;
  readonly revision: number;
  /** The time of that revision; 0 when it is unknown. */
  readonly time: number;
  /**
   * The revision of the collection when the copy was begun, until the position reaches it. A removal up to
   * there does not matter to the copy.
   */
  readonly start?: number;
  /** A hash of what the copy depends on besides the resources: hidden fields and filters; absent without. */
  readonly shown?: string | undefined;
}

/** A position of a caller who sees a part of the collection; only the server can read it. */
export interface SealedPosition {
  readonly sealed: string;
}

export const sealedPrefix = "x.";
const sealedPattern = /^x\.([A-Za-z0-9_-]{40,200})$/;

export function readSealedPosition(text: string): SealedPosition | undefined {
  const [, sealed] = sealedPattern.exec(text) ?? [];
  return sealed === undefined ? undefined : { sealed };
}

const pattern =
  /^([0-9a-z]{1,11}\.[0-9a-z]{1,11})-([0-9a-z]{1,11})-([0-9a-z]{1,11})(?:-([0-9a-z]{1,11}))?(?:\.([0-9a-z]{1,11}))?$/;

export function writeFeedPosition(position: FeedPosition): string {
  const { epoch, revision, time, start = 0, shown } = position;
  const begun = start > revision ? `-${start.toString(36)}` : "";
  const hash = shown === undefined ? "" : `.${shown}`;
  return `${epoch}-${revision.toString(36)}-${time.toString(36)}${begun}${hash}`;
}

export function readFeedPosition(text: string): FeedPosition | undefined {
  const [, epoch = "", revision = "", time = "", start = "0", shown] = pattern.exec(text) ?? [];
  if (epoch === "") return undefined;
  const position = {
    epoch,
    revision: Number.parseInt(revision, 36),
    time: Number.parseInt(time, 36),
    ...(shown !== undefined && { shown }),
  };
  const begun = Number.parseInt(start, 36);
  const numbers = [position.revision, position.time, begun];
  if (!numbers.every(Number.isSafeInteger)) return undefined;
  return begun > position.revision ? { ...position, start: begun } : position;
}
