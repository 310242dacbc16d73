// Compares definitions with those of a store: what changes, what stored resources would violate, and what is lost.

import { isDeepStrictEqual } from "node:util";
import { CliError } from "../lib/cli-error.ts";
import type { Collection } from "../model/collection.ts";
import { type Definition, definitionOf } from "../model/definition.ts";
import { readIndex } from "../model/listed-index.ts";
import { system } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import { type AccessDocument, accessDocumentOf } from "../model/schemas/access.ts";
import type { Violations } from "../model/schemas/collection.ts";
import type { App } from "../server/app.ts";
import { accessFile } from "../server/definitions-folder.ts";
import type { DefinitionsSource, SourceDefinition } from "./definitions-source.ts";
import { countOf } from "./progress.ts";

export interface CollectionDiff {
  readonly name: string;
  readonly state: "same" | "new" | "changed" | "only-in-target";
  /** How many resources the target has. */
  readonly resources: number;
  /** The members of the definition that differ. */
  readonly members: readonly string[];
  /** What the change takes away. */
  readonly destructive: readonly string[];
  /** Stored resources that do not match the new definition. */
  readonly violations?: Violations;
  /** Why the definition would be rejected. */
  readonly rejected?: string;
}

export interface DefinitionsDiff {
  readonly collections: readonly CollectionDiff[];
  /** Undefined when the source has no access document. */
  readonly access: "same" | "changed" | undefined;
}

export async function compareDefinitions(
  app: App,
  { definitions, access, isFolder }: DefinitionsSource,
  isPruned: boolean,
): Promise<DefinitionsDiff> {
  const stored = await app.collections.list(system);
  const document = await app.accessDocuments.find(system);
  if (stored instanceof Problem) throw new CliError(1, stored.detail);
  const after = access === undefined ? undefined : accessDocumentOf(rulesOf(access));
  const collections: CollectionDiff[] = [];
  for (const source of definitions.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const before = stored.find(({ name }) => name === source.name);
    collections.push(await compareOne(app, source, before, after));
  }
  const names = new Set(definitions.map(({ name }) => name));
  for (const { name, total } of stored) {
    if (names.has(name) || (isFolder && name === accessFile)) continue;
    const destructive = isPruned
      ? [`deletes the collection with ${countOf(total, "resources")}`]
      : [];
    collections.push({ name, state: "only-in-target", resources: total, members: [], destructive });
  }
  if (after === undefined) return { collections, access: undefined };
  return { collections, access: isDeepStrictEqual(document, after) ? "same" : "changed" };
}

const rulesOf = (definition: string) => ({ version: 0, definition });

async function compareOne(
  app: App,
  { name, text }: SourceDefinition,
  before: Collection | undefined,
  document: AccessDocument | undefined,
): Promise<CollectionDiff> {
  const after = definitionOf(rulesOf(text));
  const former = before && definitionOf(rulesOf(before.definition));
  const resources = before?.total ?? 0;
  if (former !== undefined && isDeepStrictEqual(former, after))
    return { name, state: "same", resources, members: [], destructive: [] };
  const dryRun = await app.collections.dryRun(system, name, text, document && { document });
  const result =
    dryRun instanceof Problem
      ? {
          rejected: [dryRun.detail, ...(dryRun.errors ?? []).map(({ detail }) => detail)].join(" "),
        }
      : { violations: dryRun.violations };
  if (former === undefined)
    return { name, state: "new", resources, members: [], destructive: [], ...result };
  const all = new Set([...Object.keys(former), ...Object.keys(after)]) as Set<keyof Definition>;
  const members = [...all].filter((member) => !isDeepStrictEqual(former[member], after[member]));
  return {
    name,
    state: "changed",
    resources,
    members,
    destructive: droppedBy(former, after),
    ...result,
  };
}

/** Returns what the new definition no longer has. Resources stay as they are. */
function droppedBy(before: Definition, after: Definition): readonly string[] {
  const dropped = (names: (definition: Definition) => readonly string[]) => {
    const left = new Set(names(after));
    return names(before).filter((name) => !left.has(name));
  };
  const unique = ({ unique: listed }: Definition) => listed.map((each) => readIndex(each).name);
  const indexed = ({ indexed: listed }: Definition) => listed.map((each) => readIndex(each).name);
  const searched = ({ searchable }: Definition) =>
    searchable.map((each) => (typeof each === "string" ? each : each.field));
  return [
    ...dropped(unique).map((name) => `drops the unique index on ${name}`),
    ...dropped(indexed).map((name) => `drops the index on ${name}`),
    ...dropped(searched).map((name) => `drops the search in ${name}`),
    ...dropped(({ references }) => Object.keys(references)).map(
      (name) => `drops the reference ${name}`,
    ),
  ];
}
