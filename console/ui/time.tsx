// A point in time: how long ago, and in both time zones when the pointer rests on it.

import { formatAgo, formatBothTimes } from "./format.ts";

export const Time = ({ value }: { value: string }) => (
  <time dateTime={value} title={formatBothTimes(value)}>
    {formatAgo(value)}
  </time>
);
