// A question judged by a collection's definition: the query it makes, or every fault of it.

import type { Collection } from "../model/collection.ts";
import { type Askable, askableIn } from "../model/list/askable.ts";
import { markOf, readCursor } from "../model/list/cursor.ts";
import { conditionOf } from "../model/list/filter.ts";
import { equalTo, keyOf } from "../model/list/key.ts";
import { meantBy } from "../model/list/near-miss.ts";
import { pageLimits } from "../model/list/page.ts";
import { ownerField, wordsOf } from "../model/list/plan.ts";
import {
  type Condition,
  isRanked,
  type Query,
  type Sorting,
  type Word,
} from "../model/list/query.ts";
import {
  type Filter,
  isAlwaysShown,
  type NamedField,
  type Place,
  type Question,
  questionLimits,
  questionOffset,
  type Said,
} from "../model/list/question.ts";
import { type Fault, type ParameterFault, Problem } from "../model/problem.ts";
import { maxCandidateBytes, maxCandidates } from "../store/store.ts";

/** The query, or every fault of the question at once. With an owner, only what is theirs is there. */
export function inquire(
  collection: Collection,
  question: Question,
  owner: string | undefined,
): Query | Problem {
  const inquiry = new Inquiry(askableIn(collection.definition), question);
  const query = inquiry.query(owner);
  const start = inquiry.start(collection, query);
  return inquiry.faults.length > 0 ? refuse(question, inquiry.faults) : { ...query, start };
}

/** Why these fields cannot be shown: the definition does not know them, or hides them. */
export function refuseFields(
  definition: string,
  fields: readonly NamedField[],
): Problem | undefined {
  const askable = askableIn(definition);
  const unknown = fields.filter(
    ({ field }) => !isAlwaysShown(field) && askable.find(field) === undefined,
  );
  if (unknown.length === 0) return undefined;
  const errors = unknown.map(({ field, place }) => ({ ...place, detail: noField(askable, field) }));
  return new Problem(
    "invalid-parameter",
    "The query string is not valid; `errors` names each fault.",
    {
      errors,
    },
  );
}

const noField = (askable: Askable, field: string): string =>
  `there is no field "${field}" here; there are: ${askable.names()}`;

/** What must stay the same for a walk to go on. */
export const markOfQuery = (
  { name, createdAt }: Collection,
  { conditions, words, sortings, isNewestFirst }: Query,
): string => markOf([name, createdAt, conditions, words, sortings, isNewestFirst]);

class Inquiry {
  readonly faults: (Fault | ParameterFault)[];
  readonly #askable: Askable;
  readonly #question: Question;

  constructor(askable: Askable, question: Question) {
    this.#askable = askable;
    this.#question = question;
    this.faults = [...question.faults];
  }

  query(owner: string | undefined): Query {
    const { filters, search, fields, limit, isCounted } = this.#question;
    const conditions = filters.flatMap((filter) => this.#condition(filter));
    const words = search === undefined ? [] : this.#words(search);
    const sortings = this.#sortings();
    for (const named of fields) if (!isAlwaysShown(named.field)) this.#find(named);
    const last = sortings.at(-1);
    const isByCreation = last?.field === "createdAt";
    // The order of creation decides at the end anyhow; but alone it must keep words from being ranked.
    const isDropped = isByCreation && (sortings.length > 1 || words.length === 0);
    return {
      conditions: owner === undefined ? conditions : [ownedBy(owner), ...conditions],
      words,
      sortings: isDropped ? sortings.slice(0, -1) : sortings,
      isNewestFirst: isByCreation && last.isDescending,
      start: 0,
      limit,
      isCounted,
    };
  }

  #condition(filter: Filter): readonly Condition[] {
    const meant = this.#meantBy(filter);
    if (meant !== undefined) return this.#fault(filter.place, meant);
    const shape = this.#find(filter);
    if (shape === undefined) return [];
    if (shape.holds === "object") return this.#fault(filter.place, anObject(filter.field));
    const condition = conditionOf(filter, shape.kind, this.#question.isSpelled);
    return typeof condition === "string" ? this.#fault(filter.place, condition) : [condition];
  }

  /** What to send instead of a parameter that is nearly one of ours; undefined when it is a field. */
  #meantBy({ field, operand, place }: Filter): string | undefined {
    const isBare = "parameter" in place && place.parameter === field;
    if (!isBare || this.#askable.declares(field)) return undefined;
    const meant = meantBy(field, operand);
    return (
      meant &&
      `there is no parameter "${field}"; use ${meant}. For a field of this name, write ${field}[eq]`
    );
  }

  #sortings(): readonly Sorting[] {
    return this.#question.sort.flatMap((sorted): readonly Sorting[] => {
      const { field, isDescending, place } = sorted;
      const shape = this.#find(sorted);
      if (shape === undefined) return [];
      if (shape.holds === "object") return this.#fault(place, anObject(field));
      if (shape.holds === "array")
        return this.#fault(place, `${field} is a list, and has no order`);
      return [{ field, kind: shape.kind, isDescending }];
    });
  }

  #words({ text, place }: Said): readonly Word[] {
    if (!this.#askable.isSearchable) {
      const advice = 'declare fields under "searchable" in its definition';
      return this.#fault(place, `nothing in this collection can be searched; ${advice}`);
    }
    const words = searchedIn(text);
    const { maxWords } = questionLimits;
    return words.length > 0 && words.length <= maxWords
      ? words
      : this.#fault(place, `1 to ${maxWords} words of letters or digits are needed`);
  }

  /** Where the answer begins. */
  start(collection: Collection, query: Query): Query["start"] {
    const { cursor } = this.#question;
    if (cursor === undefined) return questionOffset(this.#question);
    const { text, place } = cursor;
    if (isRanked(query)) this.#fault(place, "the best first has no cursor; sort, or use pages");
    // With other faults the question is not known.
    if (text === "" || this.faults.length > 0) return 0;
    const mark = markOfQuery(collection, query);
    const position = readCursor(text, mark, query.sortings.length);
    if (typeof position === "object") return position;
    this.#fault(place, cursorFaults[position]);
    return 0;
  }

  #find({ field, place }: NamedField) {
    const shape = this.#askable.find(field);
    if (shape === undefined) {
      this.#fault(place, noField(this.#askable, field));
    }
    return shape;
  }

  #fault(place: Place, detail: string): readonly never[] {
    this.faults.push({ ...place, detail });
    return [];
  }
}

const cursorFaults = {
  malformed:
    "this is no cursor; send the `next` of an earlier answer as it was, or nothing to begin",
  foreign:
    "this cursor belongs to another question; send it with the same filters, words and sort, or begin anew",
} as const;

const anObject = (field: string): string =>
  `${field} is an object; name a field in it, with a dot between: ${field}.…`;

const ownedBy = (owner: string): Condition => ({
  field: ownerField,
  kind: "text",
  spans: [equalTo(keyOf("text", owner))],
});

/** Each once; what stands before a `*` is the beginning of a word. */
function searchedIn(text: string): readonly Word[] {
  const words = text.split(/\s+/).flatMap((piece) => {
    const parts = wordsOf(piece)
      .split(" ")
      .filter((part) => part !== "");
    const isOpen = piece.endsWith("*");
    return parts.map((part, index) => ({
      text: part,
      isPrefix: isOpen && index === parts.length - 1,
    }));
  });
  const spelled = (word: Word) => `${word.text}${word.isPrefix ? "*" : ""}`;
  return [...new Map(words.map((word) => [spelled(word), word])).values()];
}

const candidates = maxCandidates.toLocaleString("en");
const tooBroad = `More than ${candidates} resources, or more than ${maxCandidateBytes / 1024 / 1024} MiB of them, would have to be looked at one by one; \`errors\` says what helps.`;

/** The store would have to look at too many resources: what to declare, or else to ask for less. */
export function refuseBroad({ definition }: Collection, question: Question): Problem {
  const askable = askableIn(definition);
  const { filters, sort, search } = question;
  const advised = [
    ...filters.map((filter) => adviceFor(askable, filter, false)),
    ...sort.map((sorted) => adviceFor(askable, sorted, true)),
  ].flat();
  if (advised.length > 0) return refuse(question, advised, tooBroad);
  const [place] = [...filters, ...sort, ...(search ? [search] : [])].map((said) => said.place);
  const detail = `more than ${candidates} fit what one index can tell; ask for less`;
  return refuse(question, place === undefined ? [] : [{ ...place, detail }], tooBroad);
}

/** The page would have too many bytes; so many of its first resources are within the limit. */
export function refuseLarge(question: Question, count: number): Problem {
  const place = question.isSpelled ? { parameter: "limit" } : { pointer: "/limit" };
  const size = `${pageLimits.maxBytes / 1024 / 1024} MiB`;
  const detail = `use ${count} or less here; or walk with a cursor, whose pages are as long as they may be`;
  return refuse(question, [{ ...place, detail }], `The page would have over ${size}.`);
}

/** What the collection's definition could say so that its indexes help with a field. */
function adviceFor(
  askable: Askable,
  { field, place }: NamedField,
  isSorted: boolean,
): readonly (Fault | ParameterFault)[] {
  // What is known by its id, or sorted by its creation, needs no index.
  if (field === (isSorted ? "createdAt" : "id")) return [];
  const indexing = `declare "${field}" under "indexed" in the collection's definition`;
  if (!askable.indexed.has(field)) return [{ ...place, detail: indexing }];
  const typing = `declare the type of "${field}" in the collection's schema, so that its index has one order`;
  const isMixed = isSorted && askable.find(field)?.kind === "any";
  return isMixed ? [{ ...place, detail: typing }] : [];
}

/** In a URL it is a parameter that is wrong, otherwise the body. */
function refuse(
  { isSpelled }: Question,
  errors: readonly (Fault | ParameterFault)[],
  detail?: string,
): Problem {
  const kind = isSpelled ? "invalid-parameter" : "invalid-body";
  const where = isSpelled ? "query string" : "body";
  const words = detail ?? `The ${where} is not valid; \`errors\` names each fault.`;
  return new Problem(kind, words, { errors });
}
