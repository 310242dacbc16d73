// Runs as a process of its own and renders pictures: whatever a picture does to it, the server lives on.

import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { setPriority } from "node:os";
import sharp, { type Sharp } from "sharp";
import { codeOf } from "../../lib/system-error.ts";
import type { PictureDescription } from "../../model/picture.ts";
import { type PictureJob, type PictureTask, pictureLimits, type RendererMessage } from "./job.ts";

const { maxPixels, maxMemoryBytes } = pictureLimits;
const lowPriority = 10;
const watchMs = 20;
const previewPixels = 16;

// Everything else that the library can read, SVG above all, is not read.
sharp.block({ operation: ["VipsForeignLoad"] });
sharp.unblock({
  operation: ["Jpeg", "Png", "Webp", "Nsgif", "Heif"].map((name) => `VipsForeignLoad${name}`),
});
sharp.concurrency(1);
sharp.cache(false);

const send = (message: RendererMessage): void => void process.send?.(message);

process.on("disconnect", () => process.exit());
process.on("message", (job: PictureJob) => void run(job));
setPriority(lowPriority);
send({ kind: "ready" });

async function run({ input, output, task }: PictureJob): Promise<void> {
  const watch = setInterval(endIfTooLarge, watchMs);
  try {
    await write(output, await perform(input, task));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    send({ kind: "failed", reason, memoryBytes: process.memoryUsage.rss() });
  } finally {
    clearInterval(watch);
  }
}

async function write(output: string, bytes: Buffer): Promise<void> {
  const digest = createHash("sha256").update(bytes).digest();
  try {
    await writeFile(output, Buffer.concat([digest, bytes]));
    send({ kind: "done", memoryBytes: process.memoryUsage.rss() });
  } catch (error) {
    send({ kind: "unwritten", code: codeOf(error), memoryBytes: process.memoryUsage.rss() });
  }
}

/** The library decodes on another thread, so this one can look on. */
function endIfTooLarge(): void {
  if (process.memoryUsage.rss() > maxMemoryBytes) process.exit(1);
}

const perform = (input: string, task: PictureTask): Promise<Buffer> =>
  task.kind === "describe" ? describe(input) : render(input, task);

/** Turned as its EXIF data says. All metadata is left out of what is written. */
const open = (input: string): Sharp =>
  sharp(input, { limitInputPixels: maxPixels, sequentialRead: true, failOn: "error" }).autoOrient();

function render(
  input: string,
  { width, height, fit, format }: Extract<PictureTask, { kind: "render" }>,
): Promise<Buffer> {
  const isOpaque = format === "jpeg";
  const background = isOpaque ? "white" : { r: 0, g: 0, b: 0, alpha: 0 };
  const resized = open(input).resize({
    width,
    height,
    fit,
    background,
    withoutEnlargement: fit === "inside",
  });
  // The default effort of AVIF takes several times as long.
  const options = format === "avif" ? { effort: 2 } : {};
  return (isOpaque ? resized.flatten({ background }) : resized)
    .toFormat(format, options)
    .toBuffer();
}

async function describe(input: string): Promise<Buffer> {
  const { autoOrient } = await open(input).metadata();
  const preview = await open(input)
    .resize(previewPixels, previewPixels, { fit: "inside" })
    .webp()
    .toBuffer();
  const description: PictureDescription = {
    width: autoOrient.width,
    height: autoOrient.height,
    preview: `data:image/webp;base64,${preview.toString("base64")}`,
  };
  return Buffer.from(JSON.stringify(description));
}
