// Writes the resources of a list as JSON, NDJSON or CSV, one by one.

import type { ListResult } from "../../domain/lists.ts";
import type { Mask } from "../../domain/mask.ts";
import {
  type CsvColumn,
  fieldColumn,
  headerRow,
  memberColumn,
  membersOf,
  resourceRow,
} from "../../lib/csv.ts";
import { eachInTurns } from "../../lib/turns.ts";
import { definitionOf } from "../../model/definition.ts";
import { everyField } from "../../model/query/list-request.ts";
import { renderPieces, withText } from "../../model/render.ts";
import { expandedMember, freeBytes, type Resource, sizeOf } from "../../model/resource.ts";
import { validatorOf } from "../../model/validator.ts";
import type { BodyPiece } from "../body/text-stream.ts";
import { ndjsonTypes } from "../headers/media-type.ts";
import { addedNames, rendererFactory } from "./fields-param.ts";

/** The media types of a list. */
export const exportTypes = [...ndjsonTypes, "text/csv"] as const;
export const listTypes = ["application/json", ...exportTypes] as const;
export type ListType = (typeof listTypes)[number];

export interface ListWriter {
  /** What comes before the first resource. */
  readonly head: string;
  /** `expanded` is the text of what the resource refers to. */
  text(resource: Resource, mask: Mask, expanded?: string): string;
  /** Returns the same text; large fields that are shown unchanged stay bytes. */
  pieces(resource: Resource, mask: Mask, expanded?: string): readonly BodyPiece[];
}

/** The columns of CSV are those of the schema and of the resources of this list, if `fields` names none. */
export function writerFor(type: ListType, listed: ListResult, home: string): ListWriter {
  if (type !== "text/csv") return jsonWriter(type, listed, home);
  const { resources, maskOf } = listed;
  const columns = new CsvColumns(listed, home);
  if (!columns.hasFields)
    for (const resource of resources) columns.addNames(resource, maskOf(resource));
  return columns.writer();
}

/** Does the same for large resources, so that other requests get a turn. */
export async function writerInTurns(
  type: ListType,
  listed: ListResult,
  home: string,
): Promise<ListWriter> {
  if (type !== "text/csv") return jsonWriter(type, listed, home);
  const { resources, maskOf } = listed;
  const columns = new CsvColumns(listed, home);
  if (!columns.hasFields)
    await eachInTurns(resources, sizeOf, (resource) =>
      columns.addNames(resource, maskOf(resource)),
    );
  return columns.writer();
}

/** Writes a resource as an item of an array, or as a line. */
function jsonWriter(type: ListType, { listRequest }: ListResult, home: string): ListWriter {
  const rendererFor = rendererFactory(listRequest.fields.map(({ field }) => field));
  const isArray = type === "application/json";
  const end = isArray ? "" : "\n";
  const text: ListWriter["text"] = (resource, mask, expanded) => {
    const view = rendererFor(mask)(resource, home);
    return (expanded === undefined ? view : withText(view, expandedMember, expanded)) + end;
  };
  const pieces: ListWriter["pieces"] = (resource, mask, expanded) => {
    const { fieldBytes } = resource;
    const isText = fieldBytes === undefined || (expanded && mayHave(fieldBytes, expandedMember));
    if (isText) return [text(resource, mask, expanded)];
    const shown = renderPieces(rendererFor(mask), resource, home);
    const last = String(shown.at(-1));
    const ending = expanded === undefined ? last : withText(last, expandedMember, expanded);
    return [...shown.slice(0, -1), ending + end];
  };
  return { head: isArray ? '{"data":[' : "", text, pieces };
}

/** Whether a member could have this name. */
const mayHave = ({ buffer, byteOffset, byteLength }: Uint8Array, name: string): boolean =>
  Buffer.from(buffer, byteOffset, byteLength).includes(`"${name}"`);

/** The columns of a CSV list: the fields that are asked for, or all that its resources have. */
class CsvColumns {
  readonly #listed: ListResult;
  readonly #fields: readonly string[];
  readonly #render: (resource: Resource, mask: Mask) => string;
  readonly #names = new Set<string>();

  constructor(listed: ListResult, home: string) {
    this.#listed = listed;
    this.#fields = listed.listRequest.fields.map(({ field }) => field);
    // The columns are picked from the whole representation.
    const rendererFor = rendererFactory([everyField, ...addedNames(this.#fields)]);
    this.#render = (resource, mask) => rendererFor(mask)(resource, home);
  }

  /** Whether the request names the columns. */
  get hasFields(): boolean {
    return this.#fields.length > 0 && !this.#fields.includes(everyField);
  }

  /** Adds the members of a resource to the columns. */
  addNames(resource: Resource, mask: Mask): void {
    for (const name of membersOf(this.#render(resource, mask))) this.#names.add(name);
  }

  writer(): ListWriter {
    const columns = this.#columns();
    const render = this.#render;
    const text = (resource: Resource, mask: Mask) => resourceRow(columns, render(resource, mask));
    return {
      head: headerRow(columns),
      text,
      pieces: (resource, mask) => {
        const row = text(resource, mask);
        freeBytes([resource]);
        return [row];
      },
    };
  }

  #columns(): readonly CsvColumn[] {
    if (this.hasFields) return [...new Set(["id", ...this.#fields])].map(fieldColumn);
    const { access, rules } = this.#listed.target;
    const view = access.view("read");
    const declared = validatorOf(definitionOf(rules)).shownMembers;
    const names = new Set(["id", ...declared.filter((name) => view.namesIn(name))]);
    const times = ["createdAt", "updatedAt"].filter((name) => view.namesIn(name));
    const ends = [...times, ...addedNames(this.#fields)];
    const between = [...names.union(this.#names)].filter((name) => !ends.includes(name));
    return [...between, ...ends].map(memberColumn);
  }
}
