// The command `copy`.

import { resolve } from "node:path";
import type { Copied } from "../copy/copy.ts";
import { CliError, usageError } from "../lib/cli-error.ts";
import { describeStore } from "../server/app.ts";
import { copy, type FollowRequest } from "../server/copies.ts";
import type { StorePlace } from "../server/open-transfer.ts";
import { namesOf } from "./backup.ts";
import { readPlace } from "./place.ts";
import { countOf, formatBytes } from "./progress.ts";
import { print, withProgress } from "./with-progress.ts";

export interface CopyOptions {
  readonly from: string;
  readonly to: string;
  readonly fromFiles?: string;
  readonly toFiles?: string;
  readonly follow?: boolean;
  readonly json?: boolean;
}

export async function runCopy(options: CopyOptions): Promise<void> {
  const from = placeOf("--from", options.from, options.fromFiles);
  const to = placeOf("--to", options.to, options.toFiles);
  const endsStopped = options.follow === true && from.store === undefined;
  const copied = await withProgress(options, "The copy failed", (track, note) =>
    copy({
      from,
      to,
      track,
      follow: options.follow ? followWith(from, note) : undefined,
      onHold(state) {
        if (state === "begins" && !endsStopped) note("Writes wait now.");
      },
    }),
  );
  if (copied.lost.length > 0) throw new CliError(1, lostMessage(copied));
  const names = { from: describeStore(from), to: describeStore(to) };
  const { at, lost: _, ...counts } = copied;
  const time = new Date(at).toISOString();
  const report = { ...names, ...counts, at: time, heldMs: Math.ceil(copied.heldMs) };
  const held = endsStopped
    ? `The server of ${names.from} has stopped. All that was written there is in the copy.`
    : `Writes waited ${report.heldMs} ms. What is written to ${names.from} after ${time} is not in the copy.`;
  print(options, report, [held, ...linesOf(copied, names.to)]);
}

function placeOf(flag: string, place: string, files: string | undefined): StorePlace {
  const isUrl = /^postgres(?:ql)?:\/\//.test(place);
  if (!isUrl && /^[a-z][a-z\d+.-]*:\/\//i.test(place))
    throw usageError([{ where: flag, detail: "must be a folder or postgres://…" }]);
  return {
    store: isUrl ? place : undefined,
    data: isUrl ? "" : resolve(place),
    files: files === undefined ? undefined : readPlace(`${flag}-files`, files),
  };
}

/** Says once that the copy is up to date, and what ends it. */
function followWith(from: StorePlace, note: (text: string) => void): FollowRequest {
  let isTold = false;
  const hasStopped = from.store === undefined ? () => false : watchForEnd();
  const how =
    from.store === undefined
      ? `Stop the server of ${from.data} to finish.`
      : "Stop all servers of the source, and press Enter to finish.";
  return {
    hasStopped,
    onRound() {
      if (!isTold) note(`The copy is up to date, and follows. ${how}`);
      isTold = true;
    },
  };
}

/** A line on standard input, or a signal. */
function watchForEnd(): () => boolean {
  let isEnded = false;
  const end = () => {
    isEnded = true;
    process.stdin.pause();
  };
  process.stdin.once("data", end);
  process.once("SIGINT", end);
  process.once("SIGTERM", end);
  return () => isEnded;
}

function linesOf(copied: Copied, to: string): readonly string[] {
  const { resources, collections, tokens, files, fileBytes, rows } = copied;
  return [
    `Copied ${countOf(resources, "resources")} in ${countOf(collections, "collections")}, ${countOf(tokens, "tokens")} and ${countOf(files, "files")} (${formatBytes(fileBytes)}) to ${to}.`,
    `Read ${countOf(rows, "rows")} and ${countOf(files, "files")} back: they are the same.`,
  ];
}

const lostMessage = ({ lost }: Copied): string =>
  `The copy failed: files are missing or damaged at the source: ${namesOf(lost)}. Take them from a backup, upload them again or delete them, and run the same command again. If the server has its files elsewhere, add --from-files.`;
