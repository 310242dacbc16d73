// The command `types`: prints TypeScript types of the collections in a folder of definitions or in the store.

import { CliError } from "../lib/cli-error.ts";
import { hidesFields } from "../model/access/grant.ts";
import { collectionComponents } from "../model/collection-components.ts";
import { definitionOf } from "../model/definition.ts";
import { system } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import { reservedNames, writeTypes } from "../model/typescript.ts";
import type { Config } from "../server/config.ts";
import { readDefinitionFiles } from "../server/definitions-folder.ts";
import { withStoreToRead } from "./with-store.ts";

/** Prints only the types to standard output, so that they can be written to a file. */
export async function printTypes(config: Config): Promise<void> {
  const definitions = await definitionsIn(config);
  const collections = definitions.map(({ name, definition: text }) => {
    const definition = definitionOf({ version: 0, definition: text });
    const { schema, singular, references = {} } = definition;
    return { name, schema, singular, references, hidesFields: hidesFields(definition) };
  });
  const references = new Map(collections.map((each) => [each.name, each.references]));
  process.stdout.write(writeTypes(collectionComponents(collections, reservedNames), references));
}

interface DefinedCollection {
  readonly name: string;
  /** The text of a JSON object. */
  readonly definition: string;
}

async function definitionsIn(config: Config): Promise<readonly DefinedCollection[]> {
  if (config.collections !== undefined) {
    return readDefinitionFiles(config.collections).definitions.map(({ name, text }) => ({
      name,
      definition: text,
    }));
  }
  const definitions: DefinedCollection[] = [];
  await withStoreToRead(config, async ({ collections }) => {
    const list = await collections.list(system);
    if (list instanceof Problem) throw new CliError(1, list.detail);
    definitions.push(...list);
  });
  return definitions;
}
