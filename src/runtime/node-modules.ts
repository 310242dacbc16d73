// Loads a folder of user modules on Node: resolves a package name for them, and detects ES modules.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { FindSyntaxError, ForgetModules, ModuleSpecifier, PrepareModules } from "./runtime.ts";

/** The modules that were loaded from each folder. One of them may have a syntax error. */
const loaded = new Map<string, Set<string>>();

/** How often modules were forgotten. Node loads a module again only by another URL. */
let generation = 0;

export const forgetModules: ForgetModules = async (folder) => {
  generation++;
  loaded.get(folder)?.clear();
};

/** Each time it has another generation. */
export const moduleSpecifier: ModuleSpecifier = (path) => pathToFileURL(path).href;

const withGeneration = (url: string): string =>
  generation === 0 ? url : `${url}?again=${generation}`;

export const prepareModules: PrepareModules = (folder, name, { url }) => {
  if (loaded.has(folder)) return;
  const urls = new Set<string>();
  loaded.set(folder, urls);
  const root = pathToFileURL(folder + sep).href;
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === name && context.parentURL?.startsWith(root))
        return { url, shortCircuit: true };
      const resolved = next(specifier, context);
      const isOwn = resolved.url.startsWith(root) && !resolved.url.includes("/node_modules/");
      return isOwn ? { ...resolved, url: withGeneration(resolved.url) } : resolved;
    },
    load(target, context, next) {
      if (!target.startsWith(root) || target.includes("/node_modules/"))
        return next(target, context);
      urls.add(target);
      const { format } = context;
      const isMislabelled =
        format?.startsWith("commonjs") && isModule(readFileSync(new URL(target), "utf8"));
      return next(
        target,
        isMislabelled ? { ...context, format: format?.replace("commonjs", "module") } : context,
      );
    },
  });
};

/** Node decides by the nearest package.json, Bun by the content of the file. */
const isModule = (source: string): boolean =>
  source.split("\n").some((line) => /^(?:import|export)\b/.test(line.trimStart())) &&
  !/\b(?:module\.exports|exports\.\w)/.test(source);

const prefix = "SyntaxError: ";

/** The import error of an ES module has no line, but `node --check` reports one. */
export const findSyntaxError: FindSyntaxError = (folder) => {
  for (const url of loaded.get(folder) ?? []) {
    const path = fileURLToPath(url);
    const source = readFileSync(path, "utf8");
    const input = /\.[mc]?ts$/.test(path) ? stripTypeScriptTypes(source) : source;
    const flags = ["--input-type=module", "--check", "-"];
    const { stderr } = spawnSync(process.execPath, flags, { input, encoding: "utf8" });
    const lines = stderr.split("\n");
    const [, line] = /^\[stdin\]:(\d+)$/.exec(lines[0] ?? "") ?? [];
    const detail = lines.find((text) => text.startsWith(prefix))?.slice(prefix.length);
    if (line !== undefined && detail !== undefined)
      return { file: path, line: Number(line), detail };
  }
  return undefined;
};
