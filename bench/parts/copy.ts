// Copy: a large store with files to Postgres and back, with its rate and the peak of its memory.

import { cp } from "node:fs/promises";
import { join } from "node:path";
import { bearer, type Headers, request } from "../data/fill.ts";
import { bar, during } from "../progress.ts";
import { runRestante } from "../servers/restante.ts";
import { attempt, type Setting } from "./setting.ts";

export interface CopyFigures {
  readonly resources: number;
  readonly files: number;
  readonly lines: readonly CopyLine[];
}

export type CopyLine = { readonly way: CopyWay } & (CopyCost | { readonly error: string });

export const copyTitles = {
  there: "embedded to Postgres",
  back: "Postgres to embedded",
} as const;
export type CopyWay = keyof typeof copyTitles;

export interface CopyCost {
  readonly seconds: number;
  readonly resourcesPerSecond: number;
  readonly peakMb: number;
  /** How long writes had to wait. */
  readonly heldMs: number;
}

export async function measureCopy(setting: Setting): Promise<CopyFigures> {
  const { stores, sizes } = setting;
  const from = await sourceFolder(setting);
  const folder = await stores.folder();
  const url = await (await stores.database()).empty();
  const files = join(folder, "files");
  const ways: Readonly<Record<CopyWay, readonly string[]>> = {
    there: ["--from", from, "--to", url, "--to-files", files],
    back: ["--from", url, "--from-files", files, "--to", join(folder, "back")],
  };
  const lines: CopyLine[] = [];
  for (const way of ["there", "back"] as const) {
    const work = attempt(`copy, ${way}`, () => measureOne(ways[way], folder));
    lines.push({ way, ...(await during(`copying ${copyTitles[way]}`, work)) });
  }
  return { resources: sizes.big + sizes.copiedFiles, files: sizes.copiedFiles, lines };
}

const timeoutSeconds = 3_600;

/** The command reads back and compares every row and file before it says so. */
async function measureOne(args: readonly string[], folder: string): Promise<CopyCost> {
  const { output, seconds, peakMb } = await runRestante(
    ["copy", ...args, "--json"],
    folder,
    timeoutSeconds,
  );
  const { resources, heldMs } = JSON.parse(output) as {
    readonly resources: number;
    readonly heldMs: number;
  };
  return { seconds, resourcesPerSecond: resources / seconds, peakMb, heldMs };
}

/** The members of the other parts, in a folder of its own, and files. */
async function sourceFolder({ stores, sizes, secret }: Setting): Promise<string> {
  const members = await stores.members("embedded", sizes.big);
  const folder = await stores.folder();
  await cp(members.folder, folder, { recursive: true });
  const server = await stores.start({ folder, flags: [] });
  try {
    await upload(server.origin, bearer(secret), sizes.copiedFiles);
  } finally {
    await server.stop();
  }
  return folder;
}

const uploadsAtOnce = 16;
const fileBytes = 20_000;

async function upload(origin: string, headers: Headers, count: number): Promise<void> {
  const show = bar(`uploading ${count.toLocaleString("en")} files`, count);
  let begun = 0;
  const work = async () => {
    while (begun < count) {
      const body = `${++begun} `.repeat(fileBytes).slice(0, fileBytes);
      const own = { ...headers, "content-type": "text/plain" };
      await request(`${origin}/papers`, { method: "POST", headers: own, body }, 201);
      show(begun);
    }
  };
  await Promise.all(Array.from({ length: uploadsAtOnce }, work));
}
