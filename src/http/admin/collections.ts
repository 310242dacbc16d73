// Handles the admin routes of collections and their definitions.

import type { CollectionCondition } from "../../domain/collections.ts";
import { type BuildProgress, clashErrors } from "../../domain/not-unique.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import type { Reply } from "../../lib/reply.ts";
import type { Collection } from "../../model/collection.ts";
import { Problem } from "../../model/problem.ts";
import { collectionView, maxSubjects } from "../../model/schemas/collection.ts";
import { subjectPattern } from "../../model/token.ts";
import { readAuthorizedBody } from "../body/authorized-body.ts";
import { checkJsonBody, readText } from "../body/content.ts";
import { checkAccept, jsonTypes, putTypes } from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { readParameters, rejectParameters } from "../request/request-target.ts";
import { type Page, sendPage } from "../response/representation.ts";
import { emptyReply, json, noCache } from "../response/response.ts";
import { readDocumentCondition, renderDocument, setTagIfUnchanged } from "./document.ts";

const checkRequest = (context: RequestContext): Problem | undefined =>
  rejectParameters(context) ?? checkAccept(context.request.headers, jsonTypes);

export async function listCollections(context: RequestContext): Promise<Reply | Problem> {
  const rejected = checkRequest(context);
  if (rejected !== undefined) return rejected;
  const collections = await context.services.collections.list(context.principal);
  if (collections instanceof Problem) return collections;
  return json(context, 200, { data: collections.map(collectionView) });
}

export async function getCollection(context: RequestContext): Promise<Reply | Problem> {
  const rejected = checkRequest(context);
  if (rejected !== undefined) return rejected;
  const { services, principal } = context;
  const name = context.param("name");
  const collection = await services.collections.find(principal, name);
  if (collection instanceof Problem) return collection;
  return sendPage(context, await renderCollection(context, collection));
}

export async function getDefinition(context: RequestContext): Promise<Reply | Problem> {
  const rejected = checkRequest(context);
  if (rejected !== undefined) return rejected;
  const { services, principal } = context;
  const collection = await services.collections.find(principal, context.param("name"));
  if (collection instanceof Problem) return collection;
  return sendPage(context, renderDefinition(context, collection));
}

type Render = (context: RequestContext, collection: Collection) => MaybePromise<Page>;

/** All that is shown of a collection: it changes with each write to it, and while its indexes are built. */
async function renderCollection(context: RequestContext, collection: Collection): Promise<Page> {
  const { services, principal } = context;
  const build = await services.collections.progress(principal, collection.name);
  const built = build === undefined || build instanceof Problem ? {} : buildView(build);
  const body = JSON.stringify({ ...collectionView(collection), ...built });
  return renderDocument(context, body, noCache);
}

const renderDefinition = (context: RequestContext, { definition }: Collection): Page =>
  renderDocument(context, definition, noCache);

/** Reads the preconditions of a write, which compare what `render` shows. */
function readCollectionCondition(
  context: RequestContext,
  render: Render,
): CollectionCondition | Problem | undefined {
  const condition = readDocumentCondition(context);
  if (condition === undefined || condition instanceof Problem) return condition;
  return async (current) => condition(current && (await render(context, current)));
}

const buildView = ({ isRunning, done, total, clashes }: BuildProgress) => ({
  build: {
    status: isRunning ? "running" : "failed",
    done,
    total,
    percent: total === 0 ? 100 : Math.floor((100 * done) / total),
    ...(!isRunning && { errors: clashErrors(clashes) }),
  },
});

export const putCollection = (context: RequestContext): Promise<Reply | Problem> =>
  define(context, renderCollection);

export const putDefinition = (context: RequestContext): Promise<Reply | Problem> =>
  define(context, renderDefinition);

async function define(context: RequestContext, render: Render): Promise<Reply | Problem> {
  const { services } = context;
  const name = context.param("name");
  const dryRun = readDryRun(context);
  if (dryRun instanceof Problem) return dryRun;
  const rejected = checkJsonBody(context, putTypes);
  if (rejected !== undefined) return rejected;
  const condition = readCollectionCondition(context, render);
  if (condition instanceof Problem) return condition;
  const text = readText(await readAuthorizedBody(context));
  if (text instanceof Problem) return text;
  if (dryRun !== undefined) return tryDefinition(context, text, { ...dryRun, condition });

  const { principal } = context;
  const defined = await services.collections.define(principal, name, text, condition);
  if (defined instanceof Problem) return defined;
  const collection = await services.collections.find(principal, name);
  if (collection instanceof Problem) return collection;
  const { isNew, violations, build } = defined;
  const view = { ...collectionView(collection), violations, ...(build && buildView(build)) };
  const reply = json(context, build ? 202 : isNew ? 201 : 200, view);
  setTagIfUnchanged(reply, text, await render(context, collection));
  return reply;
}

/** The subjects of a dry run; undefined when it is none. */
function readDryRun({
  searchParams,
}: RequestContext): { readonly subjects: readonly string[] } | Problem | undefined {
  const parameters = readParameters(searchParams, ["dry-run", "subjects"]);
  if (parameters instanceof Problem) return parameters;
  const { "dry-run": dryRun = "false", subjects: listed } = parameters;
  if (dryRun !== "true" && dryRun !== "false") return invalidDryRun;
  const subjects = listed === undefined ? [] : listed.split(",");
  const isListed = subjects.every((subject) => subjectPattern.test(subject));
  if (!isListed || subjects.length > maxSubjects || (listed !== undefined && dryRun === "false"))
    return invalidSubjects;
  return dryRun === "true" ? { subjects } : undefined;
}

/** Reports what a definition would do, and changes nothing. */
async function tryDefinition(
  context: RequestContext,
  text: string,
  { subjects, condition }: DryRun,
): Promise<Reply | Problem> {
  const { services, principal } = context;
  const name = context.param("name");
  const result = await services.collections.dryRun(principal, name, text, { condition });
  if (result instanceof Problem) return result;
  const seen = subjects.length > 0 && (await services.rights.seen(principal, name, text, subjects));
  if (seen instanceof Problem) return seen;
  const { violations } = result;
  const definition: unknown = JSON.parse(text);
  return json(context, 200, { name, definition, dryRun: true, violations, ...(seen && { seen }) });
}

interface DryRun {
  readonly subjects: readonly string[];
  readonly condition: CollectionCondition | undefined;
}

/** A collection with resources is deleted only when `confirm` repeats its name. */
export async function deleteCollection(context: RequestContext): Promise<Reply | Problem> {
  const { services, principal } = context;
  const name = context.param("name");
  const parameters = readParameters(context.searchParams, ["confirm"]);
  if (parameters instanceof Problem) return parameters;
  const { confirm } = parameters;
  if (confirm !== undefined && confirm !== name) return notConfirmed(name);

  const condition = readCollectionCondition(context, renderCollection);
  if (condition instanceof Problem) return condition;

  const isConfirmed = confirm === name;
  const problem = await services.collections.delete(principal, name, isConfirmed, condition);
  if (problem !== undefined) return problem;

  return emptyReply(context);
}

const invalidDryRun = new Problem("invalid-parameter", "The query string is not valid.", {
  errors: [{ parameter: "dry-run", detail: "dry-run must be true or false." }],
});

const invalidSubjects = new Problem("invalid-parameter", "The query string is not valid.", {
  errors: [
    {
      parameter: "subjects",
      detail: `subjects is for dry-run=true: 1 to ${maxSubjects} subjects, separated by commas`,
    },
  ],
});

const notConfirmed = (name: string): Problem =>
  new Problem("invalid-parameter", "The collection was not deleted.", {
    errors: [
      { parameter: "confirm", detail: `confirm must be the name of the collection: ${name}` },
    ],
  });
