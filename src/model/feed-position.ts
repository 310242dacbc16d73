// Where a client is in the feed of a collection, and the text that stands for it.

export interface FeedPosition {
  /** Which history of the collection the revision belongs to; only the store knows its meaning. */
  readonly epoch: string;
  readonly revision: number;
  /** When that revision was written; 0 when it is not known. */
  readonly time: number;
}

const shape = /^([0-9a-z]{1,11}\.[0-9a-z]{1,11})-([0-9a-z]{1,11})-([0-9a-z]{1,11})$/;

export const writeFeedPosition = ({ epoch, revision, time }: FeedPosition): string =>
  `${epoch}-${revision.toString(36)}-${time.toString(36)}`;

export function readFeedPosition(text: string): FeedPosition | undefined {
  const [, epoch = "", revision = "", time = ""] = shape.exec(text) ?? [];
  if (epoch === "") return undefined;
  const position = {
    epoch,
    revision: Number.parseInt(revision, 36),
    time: Number.parseInt(time, 36),
  };
  const isExact = Number.isSafeInteger(position.revision) && Number.isSafeInteger(position.time);
  return isExact ? position : undefined;
}
