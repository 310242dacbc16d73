// Programs written in Go that tests use. Go builds each of them once.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const cache = fileURLToPath(new URL("../node_modules/.cache/go", import.meta.url));

/** What the newest versions of these programs ask for; an older Go fetches it. */
export const goToolchain = { GOTOOLCHAIN: "go1.27.0" };

/** Returns the program, or undefined where there is none and Go cannot build it. Takes minutes at first. */
export function findGoProgram(source: string): string | undefined {
  const name = source.split("@")[0]?.split("/").at(-1) ?? "";
  const program = join(cache, name);
  if (existsSync(program)) return program;
  const env = { ...process.env, ...goToolchain, GOBIN: cache };
  spawnSync("go", ["install", source], { env, stdio: "inherit" });
  return existsSync(program) ? program : undefined;
}
