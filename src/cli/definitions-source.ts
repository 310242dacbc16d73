// Reads definitions and the access document from a folder, another store or another server.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { CliError, messageOf, usageError } from "../lib/cli-error.ts";
import { memberOf } from "../lib/own-property.ts";
import { system } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import type { Config } from "../server/config.ts";
import { readDefinitionFiles } from "../server/definitions-folder.ts";
import { definitionsName, manifestName } from "./export-folder.ts";
import { withStoreToRead } from "./with-store.ts";

export interface SourceDefinition {
  readonly name: string;
  /** The text of a JSON object. */
  readonly text: string;
}

export interface DefinitionsSource {
  readonly definitions: readonly SourceDefinition[];
  /** The text of the access document; undefined when the source has none. */
  readonly access: string | undefined;
  /** A folder cannot define a collection with the name of the access document. */
  readonly isFolder: boolean;
}

export function readSource(
  config: Config,
  from: string | undefined,
  token: string | undefined,
): Promise<DefinitionsSource> {
  if (from === undefined) return readFolder(config.collections, "--collections");
  if (/^postgres(?:ql)?:\/\//.test(from)) return readStore({ ...config, store: from });
  if (/^https?:\/\//.test(from)) return readServer(from.replace(/\/$/, ""), token);
  if (existsSync(join(from, "restante.db")))
    return readStore({ ...config, data: from, files: undefined, store: undefined });
  const isExport = existsSync(join(from, manifestName));
  return readFolder(isExport ? join(from, definitionsName) : from, "--from");
}

async function readFolder(folder: string | undefined, flag: string): Promise<DefinitionsSource> {
  if (folder === undefined)
    throw usageError([
      { where: "--collections", detail: "is needed: a folder of definitions; or use --from" },
    ]);
  const { definitions, access } = readDefinitionFiles(folder, flag);
  return { definitions, access: access?.text, isFolder: true };
}

async function readStore(config: Config): Promise<DefinitionsSource> {
  let source: DefinitionsSource | undefined;
  await withStoreToRead({ ...config, readStore: undefined }, async (app) => {
    const list = await app.collections.list(system);
    const access = await app.accessDocuments.find(system);
    if (list instanceof Problem) throw new CliError(1, list.detail);
    const definitions = list.map(({ name, definition }) => ({ name, text: definition }));
    source = { definitions, access: JSON.stringify(access), isFolder: false };
  });
  if (source === undefined) throw new Error("the store must have been read");
  return source;
}

async function readServer(url: string, token: string | undefined): Promise<DefinitionsSource> {
  if (token === undefined)
    throw usageError([
      { where: `--from ${url}`, detail: "put an admin token of it into RESTANTE_FROM_TOKEN" },
    ]);
  const list = memberOf(await getJson(`${url}/-/collections`, token), "data");
  const access = await getJson(`${url}/-/access`, token);
  if (!Array.isArray(list)) throw new CliError(1, `${url} is not a Restante server.`);
  const definitions = list.map((each) => ({
    name: String(memberOf(each, "name")),
    text: JSON.stringify(memberOf(each, "definition") ?? {}),
  }));
  return { definitions, access: JSON.stringify(access), isFolder: false };
}

async function getJson(url: string, token: string): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  } catch (cause) {
    throw new CliError(1, `Cannot read ${url}: ${messageOf(cause)}`, { cause });
  }
  const body: unknown = await response.json().catch(() => undefined);
  if (response.ok) return body;
  const detail = memberOf(body, "detail");
  throw new CliError(1, `Cannot read ${url}: ${response.status} ${detail ?? ""}`.trimEnd());
}
