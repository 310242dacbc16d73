// The command `new`: writes a small app with Vite and React into a new folder.

import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { CliError, usageError } from "../lib/cli-error.ts";
import { packages, templateFiles } from "../lib/program.ts";
import { reasonOf } from "../lib/system-error.ts";
import { print } from "./with-progress.ts";

export interface NewOptions {
  readonly name?: string;
  readonly json?: boolean;
}

/** Of a package that can be installed (npm). */
const namePattern = /^(?:@[a-z0-9-][a-z0-9._-]*\/)?[a-z0-9-][a-z0-9._-]*$/;
const longestName = 214;

/** The folder is there with all files, or not at all. */
export function writeApp(folder: string, options: NewOptions): void {
  const target = resolve(folder);
  const name = checkName(options.name ?? basename(target), options.name === undefined);
  checkFolder(target, folder);
  const packed = packages();
  if (packed.size === 0)
    throw new CliError(
      1,
      "The packages that a new app installs are not built here. In a clone, run: npm run new -- ../my-app",
    );
  const files = [...templateFiles()].map(
    ([path, text]) =>
      [path.replace("_gitignore", ".gitignore"), fitText(path, text, name)] as const,
  );
  writeWhole(target, [...files, ...packed]);
  print(options, { folder: target, name, files: files.length + packed.size }, [
    `Wrote ${name}. Run it:`,
    "",
    `  cd ${relative(process.cwd(), target)}`,
    "  npm install",
    "  npm run dev",
  ]);
}

function checkName(name: string, isOfFolder: boolean): string {
  if (namePattern.test(name) && name.length <= longestName && name !== "node_modules") return name;
  const hint = isOfFolder ? "; choose another one with --name" : "";
  const detail = `"${name}" cannot be the name of a package: use small letters, digits, - and _${hint}`;
  throw usageError([{ where: isOfFolder ? "folder" : "--name", detail }]);
}

function checkFolder(target: string, folder: string): void {
  if (`${process.cwd()}/`.startsWith(`${target}/`))
    throw new CliError(1, `${folder} is where you are. Go to the folder above it, and name it.`);
  try {
    if (readdirSync(target).length === 0) return;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw cannotWrite(target, error);
  }
  throw new CliError(1, `${folder} is not empty, so nothing was written. Choose a new folder.`);
}

function fitText(path: string, text: string, name: string): string {
  if (path === "README.md") return text.replaceAll("my-app", name);
  if (path !== "package.json") return text;
  return `${JSON.stringify({ ...JSON.parse(text), name }, null, 2)}\n`;
}

/** Writes everything beside the folder, and then renames it. */
function writeWhole(
  target: string,
  files: readonly (readonly [path: string, content: string | Uint8Array])[],
): void {
  const draft = `${target}.${randomBytes(4).toString("hex")}`;
  try {
    for (const [path, content] of files) {
      mkdirSync(dirname(join(draft, path)), { recursive: true });
      writeFileSync(join(draft, path), content);
    }
    renameSync(draft, target);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    throw cannotWrite(target, error);
  }
}

const cannotWrite = (target: string, cause: unknown): CliError =>
  new CliError(1, `Cannot write ${target}: ${reasonOf(cause)}.`, { cause });
