// Encodes and decodes a client's position in the change feed of a collection.

export interface FeedPosition {
  /** The history of the collection that the revision belongs to. Only the store interprets it. */
  readonly epoch: string;
  readonly revision: number;
  /** The time of that revision; 0 when it is unknown. */
  readonly time: number;
}

const pattern = /^([0-9a-z]{1,11}\.[0-9a-z]{1,11})-([0-9a-z]{1,11})-([0-9a-z]{1,11})$/;

export const writeFeedPosition = ({ epoch, revision, time }: FeedPosition): string =>
  `${epoch}-${revision.toString(36)}-${time.toString(36)}`;

export function readFeedPosition(text: string): FeedPosition | undefined {
  const [, epoch = "", revision = "", time = ""] = pattern.exec(text) ?? [];
  if (epoch === "") return undefined;
  const position = {
    epoch,
    revision: Number.parseInt(revision, 36),
    time: Number.parseInt(time, 36),
  };
  const isExact = Number.isSafeInteger(position.revision) && Number.isSafeInteger(position.time);
  return isExact ? position : undefined;
}
