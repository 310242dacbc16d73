// Handles the admin routes of the access document.

import type { DocumentCondition } from "../../domain/access-documents.ts";
import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import { Problem } from "../../model/problem.ts";
import type { AccessDocument } from "../../model/schemas/access.ts";
import { checkJsonBody, readBody, readText } from "../body/content.ts";
import {
  contentTag,
  isNotModified,
  isPreconditionFailed,
  readCondition,
} from "../headers/conditional.ts";
import { checkAccept, jsonTypes, putTypes } from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { rejectParameters } from "../request/request-target.ts";
import { type RenderedPage, sendPage } from "../response/representation.ts";
import { createResponse, noCache, privateCache } from "../response/response.ts";

export function getAccessDocument(context: RequestContext): MaybePromise<Response | Problem> {
  const rejected = rejectParameters(context) ?? checkAccept(context.request.headers, jsonTypes);
  if (rejected !== undefined) return rejected;
  return then(context.services.accessDocuments.find(context.principal), (document) =>
    document instanceof Problem
      ? document
      : sendPage(context, render(context, document, privateCache)),
  );
}

export async function putAccessDocument(context: RequestContext): Promise<Response | Problem> {
  const { services, principal } = context;
  const rejected = rejectParameters(context) ?? checkJsonBody(context, putTypes);
  if (rejected !== undefined) return rejected;
  const condition = readDocumentCondition(context);
  if (condition instanceof Problem) return condition;
  const text = readText(await readBody(context));
  if (text instanceof Problem) return text;
  const document = await services.accessDocuments.replace(principal, text, condition);
  if (document instanceof Problem) return document;
  const { body, headers } = render(context, document, noCache);
  return createResponse(context, body, { headers });
}

/** The document always exists. It has no Last-Modified, so that a condition by date is ignored. */
function readDocumentCondition(context: RequestContext): DocumentCondition | Problem | undefined {
  const { headers } = context.request;
  const condition = readCondition(headers);
  if (condition === undefined || condition instanceof Problem) return condition;
  return (document) => {
    const state = render(context, document, noCache);
    return !isPreconditionFailed(headers, state) && !isNotModified(headers, state);
  };
}

function render(
  { services }: RequestContext,
  document: AccessDocument,
  cacheControl: string,
): RenderedPage {
  const body = JSON.stringify(document);
  const etag = contentTag(body);
  const headers = new Headers(services.jsonHeaders);
  headers.set("Cache-Control", cacheControl);
  headers.set("ETag", etag);
  return { body, headers, etag, updatedAt: undefined, isDateExact: false };
}
