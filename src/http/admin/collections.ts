// Handles the admin routes of collections and their definitions.

import { type BuildProgress, clashErrors } from "../../domain/not-unique.ts";
import { Problem } from "../../model/problem.ts";
import { collectionView, maxSubjects } from "../../model/schemas/collection.ts";
import { subjectPattern } from "../../model/token.ts";
import { checkJsonBody, readBody, readText } from "../body/content.ts";
import { checkAccept, jsonTypes, putTypes } from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { readParameters, rejectParameters } from "../request/request-target.ts";
import { json, noCache } from "../response/response.ts";

const checkRequest = (context: RequestContext): Problem | undefined =>
  rejectParameters(context) ?? checkAccept(context.request.headers, jsonTypes);

export async function listCollections(context: RequestContext): Promise<Response | Problem> {
  const rejected = checkRequest(context);
  if (rejected !== undefined) return rejected;
  const collections = await context.services.collections.list(context.principal);
  if (collections instanceof Problem) return collections;
  return json(context, 200, { data: collections.map(collectionView) });
}

export async function getCollection(context: RequestContext): Promise<Response | Problem> {
  const rejected = checkRequest(context);
  if (rejected !== undefined) return rejected;
  const { services, principal } = context;
  const name = context.param("name");
  const collection = await services.collections.find(principal, name);
  if (collection instanceof Problem) return collection;
  const build = await services.collections.progress(principal, name);
  if (build instanceof Problem) return build;
  return json(context, 200, { ...collectionView(collection), ...(build && buildView(build)) });
}

const buildView = ({ isRunning, done, total, clashes }: BuildProgress) => ({
  build: {
    status: isRunning ? "running" : "failed",
    ...{ done, total, percent: total === 0 ? 100 : Math.floor((100 * done) / total) },
    ...(!isRunning && { errors: clashErrors(clashes) }),
  },
});

/** With `?dry-run=true` it only reports what would happen. */
export async function putCollection(context: RequestContext): Promise<Response | Problem> {
  const { services, principal } = context;
  const name = context.param("name");
  const parameters = readParameters(context.searchParams, ["dry-run", "subjects"]);
  if (parameters instanceof Problem) return parameters;
  const { "dry-run": dryRun = "false", subjects: listed } = parameters;
  if (dryRun !== "true" && dryRun !== "false") return invalidDryRun;
  const subjects = listed === undefined ? [] : listed.split(",");
  const isListed = subjects.every((subject) => subjectPattern.test(subject));
  if (!isListed || subjects.length > maxSubjects || (listed !== undefined && dryRun === "false"))
    return invalidSubjects;
  const rejected = checkJsonBody(context, putTypes);
  if (rejected !== undefined) return rejected;
  const text = readText(await readBody(context));
  if (text instanceof Problem) return text;

  if (dryRun === "true") {
    const result = await services.collections.dryRun(principal, name, text);
    if (result instanceof Problem) return result;
    const definition: unknown = JSON.parse(text);
    const seen =
      subjects.length > 0 && (await services.rights.seen(principal, name, text, subjects));
    if (seen instanceof Problem) return seen;
    const { violations } = result;
    return json(context, 200, {
      name,
      definition,
      dryRun: true,
      violations,
      ...(seen && { seen }),
    });
  }

  const defined = await services.collections.define(principal, name, text);
  if (defined instanceof Problem) return defined;

  const collection = await services.collections.find(principal, name);
  if (collection instanceof Problem) return collection;
  const { isNew, violations, build } = defined;
  if (build === undefined)
    return json(context, isNew ? 201 : 200, { ...collectionView(collection), violations });
  return json(context, 202, { ...collectionView(collection), violations, ...buildView(build) });
}

/** A collection with resources is deleted only when `confirm` repeats its name. */
export async function deleteCollection(context: RequestContext): Promise<Response | Problem> {
  const { services, principal } = context;
  const name = context.param("name");
  const parameters = readParameters(context.searchParams, ["confirm"]);
  if (parameters instanceof Problem) return parameters;
  const { confirm } = parameters;
  if (confirm !== undefined && confirm !== name) return notConfirmed(name);

  const problem = await services.collections.delete(principal, name, confirm === name);
  if (problem !== undefined) return problem;

  const headers = new Headers(services.commonHeaders);
  headers.set("Cache-Control", noCache);
  return new Response(null, { status: 204, headers });
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
