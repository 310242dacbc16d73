// A collection in other formats than JSON: NDJSON, a resource on each line, and CSV, a row for each.

import { setImmediate as turn } from "node:timers/promises";
import type { Listed, Listing } from "../../domain/lists.ts";
import { overloaded } from "../../domain/refusals.ts";
import {
  type Column,
  fieldColumn,
  headerRow,
  memberColumn,
  membersOf,
  resourceRow,
} from "../../model/csv.ts";
import { definitionOf } from "../../model/definition.ts";
import { etagField, everyField, type Question } from "../../model/list/question.ts";
import { Problem } from "../../model/problem.ts";
import { shapeOf } from "../../model/schema/shape.ts";
import { chooseCoding } from "../body/codings.ts";
import { ndjsonTypes } from "../body/media.ts";
import { variantTag } from "../conditions.ts";
import type { Exchange } from "../exchange.ts";
import { reserveWhileSent } from "../large-answer.ts";
import { codedHeaders, dated, homeOf, type State } from "../representation.ts";
import { showing } from "../shown-fields.ts";
import { streamOf } from "./stream.ts";

/** What a list can be had as. */
export const listTypes = ["application/json", ...ndjsonTypes, "text/csv"] as const;
export type ListType = (typeof listTypes)[number];
export type ExportType = Exclude<ListType, "application/json">;

/** How much is read at once, so that little is in memory. */
const maxCount = 500;
export const exportPageBytes = 256 * 1024;

/** What one export holds: the text of a page, and its bytes. */
const exportBytes = 1024 * 1024;

/** The state of a list in another format, which has a tag of its own. */
export function exportState(state: State, type: ExportType, name: string): State {
  const { headers } = state;
  const isCsv = type === "text/csv";
  const etag = state.etag === "" ? "" : variantTag(state.etag, isCsv ? "csv" : "ndjson");
  if (etag !== "") headers.set("etag", etag);
  headers.set("content-type", isCsv ? "text/csv; charset=utf-8; header=present" : type);
  if (isCsv) headers.set("content-disposition", `attachment; filename="${name}.csv"`);
  return { ...state, headers, etag };
}

/** The whole text of one page. */
export const exportPage = (exchange: Exchange, listed: Listed, type: ExportType): string => {
  const writer = writerFor(type, listed, homeOf(exchange));
  return writer.head + writer.rows(listed);
};

interface Writer {
  readonly head: string;
  rows(listed: Listed): string;
}

function writerFor(type: ExportType, first: Listed, home: string): Writer {
  const fields = first.question.fields.map(({ field }) => field);
  const isTagged = fields.includes(etagField);
  const isCsv = type === "text/csv";
  // A row takes what its columns name from the whole.
  const show = showing(isCsv ? (isTagged ? [everyField, etagField] : []) : fields);
  const viewsOf = ({ target, resources }: Listed) =>
    resources.map((resource) => show(target.rules, resource, home));
  if (isCsv) {
    const columns = columnsOf(first, fields, viewsOf);
    const rows = (listed: Listed) =>
      viewsOf(listed).reduce((text, view) => text + resourceRow(columns, view), "");
    return { head: headerRow(columns), rows };
  }
  const rows = (listed: Listed) => viewsOf(listed).reduce((text, view) => `${text}${view}\n`, "");
  return { head: "", rows };
}

/** Those that were asked for; or those that the schema declares, and what else the first page has. */
function columnsOf(
  first: Listed,
  fields: readonly string[],
  viewsOf: (listed: Listed) => readonly string[],
): readonly Column[] {
  const isWhole = fields.length === 0 || fields.includes(everyField);
  if (!isWhole) return [...new Set(["id", ...fields])].map(fieldColumn);
  const names = new Set(["id", ...shapeOf(definitionOf(first.target.rules)).shownMembers]);
  const found = membersOf(viewsOf(first));
  const tags = fields.includes(etagField) ? [etagField] : [];
  const ends = ["createdAt", "updatedAt", ...tags];
  const between = [...names.union(found)].filter((name) => !ends.includes(name));
  return [...between, ...ends].map(memberColumn);
}

/** The question that walks through everything: what is ranked has no walk, so it comes as it was created. */
export function wholeQuestion(question: Question): Question {
  const place = { parameter: "cursor" };
  const isRanked = question.search !== undefined && question.sort.length === 0;
  const byCreation = [{ field: "createdAt", isDescending: false, place: { parameter: "sort" } }];
  return {
    ...question,
    sort: isRanked ? byCreation : question.sort,
    cursor: { text: "", place },
    limit: maxCount,
    isCounted: false,
  };
}

/** All that the question chooses, page after page as fast as it is read. */
export function answerWhole(
  exchange: Exchange,
  first: Listed,
  state: State,
  type: ExportType,
): Response | Problem {
  const coding = chooseCoding(exchange.request.headers, Number.POSITIVE_INFINITY);
  if (coding instanceof Problem) return coding;
  const headers = coding === undefined ? state.headers : codedHeaders(state.headers, coding);
  const isAsked = exchange.request.method !== "HEAD";
  const release = isAsked ? reserveWhileSent(exchange, exportBytes) : done;
  if (release === undefined) return overloaded;
  const texts = isAsked ? textsOf(exchange, first, type) : nothing();
  return dated(new Response(streamOf(texts, coding, release), { headers }), state.updatedAt);
}

const done = (): void => undefined;

async function* nothing(): AsyncGenerator<string> {}

async function* textsOf(
  exchange: Exchange,
  first: Listed,
  type: ExportType,
): AsyncGenerator<string> {
  const { house } = exchange;
  const writer = writerFor(type, first, homeOf(exchange));
  let listed = first;
  let text = writer.head + writer.rows(first);
  try {
    for (;;) {
      // Who reads slowly is not idle.
      exchange.windClock();
      if (text !== "") yield text;
      if (listed.next === undefined) return;
      // Others wait for their answers, too.
      await turn();
      const listing = following(exchange, listed);
      const read =
        listing instanceof Problem ? listing : await house.lists.read(listing, exportPageBytes);
      // What has begun cannot be refused any more: it breaks off, and so nobody takes it for the whole.
      if (read instanceof Problem) throw new Error(`the list broke off: ${read.detail}`);
      listed = read;
      text = writer.rows(listed);
    }
  } catch (thrown) {
    house.logFailure(exchange, thrown);
    throw thrown;
  }
}

/** Where the walk goes on. */
function following(
  { house }: Exchange,
  { target, question, next = "" }: Listed,
): Listing | Problem {
  const cursor = { text: next, place: { parameter: "cursor" } };
  return house.lists.plan(target, { ...question, cursor });
}
