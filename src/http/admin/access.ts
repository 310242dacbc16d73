// Handles the admin routes of the access document.

import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import type { Reply } from "../../lib/reply.ts";
import { Problem } from "../../model/problem.ts";
import type { AccessDocument } from "../../model/schemas/access.ts";
import { readAuthorizedBody } from "../body/authorized-body.ts";
import { checkJsonBody, readText } from "../body/content.ts";
import { checkAccept, jsonTypes, putTypes } from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { rejectParameters } from "../request/request-target.ts";
import { type Page, sendPage } from "../response/representation.ts";
import { createReply, noCache, privateCache } from "../response/response.ts";
import { readDocumentCondition, renderDocument, setTagIfUnchanged } from "./document.ts";

export function getAccessDocument(context: RequestContext): MaybePromise<Reply | Problem> {
  const rejected = rejectParameters(context) ?? checkAccept(context.request.headers, jsonTypes);
  if (rejected !== undefined) return rejected;
  return then(context.services.accessDocuments.find(context.principal), (document) =>
    document instanceof Problem
      ? document
      : sendPage(context, render(context, document, privateCache)),
  );
}

export async function putAccessDocument(context: RequestContext): Promise<Reply | Problem> {
  const { services } = context;
  const rejected = rejectParameters(context) ?? checkJsonBody(context, putTypes);
  if (rejected !== undefined) return rejected;
  const condition = readDocumentCondition(context);
  if (condition instanceof Problem) return condition;
  const text = readText(await readAuthorizedBody(context));
  if (text instanceof Problem) return text;
  const document = await services.accessDocuments.replace(
    context.principal,
    text,
    condition && ((current) => condition(render(context, current, noCache))),
  );
  if (document instanceof Problem) return document;
  const stored = render(context, document, noCache);
  setTagIfUnchanged(stored, text, stored);
  return createReply(context, 200, stored.fields, stored.body);
}

const render = (context: RequestContext, document: AccessDocument, cacheControl: string): Page =>
  renderDocument(context, JSON.stringify(document), cacheControl);
