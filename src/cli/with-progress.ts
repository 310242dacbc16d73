// Runs the work of a command with a progress, and prints its result.

import { InvalidBackup } from "../backup/manifest.ts";
import type { Track } from "../backup/track.ts";
import { CliError, messageOf } from "../lib/cli-error.ts";
import { Outage } from "../model/outage.ts";
import { FolderInUse } from "../server/open-store.ts";
import { CannotLoad } from "../store/transfer/transfer.ts";
import { Progress } from "./progress.ts";

/** Turns expected errors into messages. `note` prints a line at once. */
export async function withProgress<T>(
  { json }: { readonly json?: boolean },
  failure: string,
  act: (track: Track, note: (text: string) => void) => Promise<T>,
): Promise<T> {
  const progress = new Progress({ isJson: json });
  const track: Track = (name, options) => {
    const step = progress.step(name, options);
    return { add: (count) => step.add(count), done: () => step.done() };
  };
  try {
    return await act(track, (text) => progress.note(text));
  } catch (error) {
    progress.close();
    if (!isExpected(error)) throw error;
    const message = messageOf(error).replace(/\.$/, "");
    throw new CliError(1, `${failure}: ${message}.`, { cause: error });
  }
}

const isExpected = (error: unknown): boolean =>
  error instanceof InvalidBackup ||
  error instanceof CannotLoad ||
  error instanceof FolderInUse ||
  error instanceof Outage ||
  (error instanceof Error && ("syscall" in error || "errcode" in error));

export function print(
  { json }: { readonly json?: boolean },
  report: object,
  lines: readonly string[],
): void {
  process.stdout.write(json ? `${JSON.stringify(report)}\n` : `${lines.join("\n")}\n`);
}
