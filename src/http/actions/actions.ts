// Handles the routes of actions: lists them and runs one.

import { scanObject } from "../../lib/json/scan.ts";
import { decodeUtf8 } from "../../lib/json/utf8.ts";
import { type Reply, ReplyFields, replyOf } from "../../lib/reply.ts";
import {
  type ActionContext,
  accepted,
  type LocationResult,
  problem,
  seeOther,
} from "../../model/action.ts";
import { actionView } from "../../model/action-schema.ts";
import { Problem } from "../../model/problem.ts";
import { readAuthorizedBody } from "../body/authorized-body.ts";
import { checkJsonBody, hasNoBody, invalidBody } from "../body/content.ts";
import { checkAccept, jsonTypes, postTypes } from "../headers/media-type.ts";
import { checkWithoutValidators } from "../headers/without-validators.ts";
import type { RequestContext } from "../request/context.ts";
import { rejectParameters } from "../request/request-target.ts";
import { createReply, json, noCache } from "../response/response.ts";
import { createActionResources } from "./action-resources.ts";

/** Lists the actions that the caller may run. */
export function listActions(context: RequestContext): Reply | Problem {
  const { services, request, principal } = context;
  const rejected = rejectParameters(context) ?? checkAccept(request.headers, jsonTypes);
  if (rejected !== undefined) return rejected;
  const data = services.actions
    .visibleTo(principal)
    .map((action) => actionView(services.base, action));
  return json(context, 200, { data });
}

export async function runAction(context: RequestContext): Promise<Reply | Problem> {
  const { services, requestId } = context;
  const action = services.actions.find(context.principal, context.param("name"));
  if (action instanceof Problem) return action;
  const text = rejectParameters(context) ?? rejectKey(context) ?? (await readInput(context));
  if (text instanceof Problem) return text;
  const { principal } = context;
  const accepted = services.actions.accept(principal, action, text);
  if (accepted instanceof Problem) return accepted;

  const result = await services.actions.run(principal, action, requestId, (signal) =>
    contextOf(context, accepted.input, signal),
  );
  if (result instanceof Problem) return result;

  const fields = new ReplyFields(services.jsonFields);
  fields.set("Cache-Control", noCache);
  if ("location" in result) return locationReply(services.base, result, fields);
  if (result.text !== undefined) return createReply(context, 200, fields, result.text);
  fields.delete("content-type");
  return replyOf(204, fields);
}

/** Actions do not store idempotency keys, so a key is rejected instead of ignored. */
const rejectKey = ({ request }: RequestContext): Problem | undefined =>
  request.headers.has("idempotency-key") ? keyNotSupported : undefined;

const keyNotSupported = new Problem(
  "malformed-request",
  "Actions do not support Idempotency-Key: only the action knows what may be repeated. Leave it out.",
);

/** Reads the text of a JSON object; no body counts as an empty object. */
async function readInput(context: RequestContext): Promise<string | Problem> {
  const { headers } = context.request;
  const isEmpty = hasNoBody(headers);
  const rejected = isEmpty ? checkAccept(headers, jsonTypes) : checkJsonBody(context, postTypes);
  const failed = rejected ?? checkWithoutValidators(headers, "is not shown");
  if (failed !== undefined || isEmpty) return failed ?? "{}";
  const bytes = await readAuthorizedBody(context);
  if (bytes instanceof Problem) return bytes;
  if (bytes.byteLength === 0) return "{}";
  const text = decodeUtf8(bytes);
  if (typeof text !== "string") return invalidBody([text]);
  const scanned = scanObject(text);
  return "members" in scanned ? text : invalidBody(scanned);
}

function contextOf(context: RequestContext, input: unknown, signal: AbortSignal): ActionContext {
  const { requestId, principal } = context;
  const { credential, subject = "", scopes } = principal;
  const resources = createActionResources(context, signal);
  // A copy, because every request of the caller has the same principal.
  const caller = {
    id: credential?.id ?? "",
    name: credential?.name ?? "",
    subject,
    scopes: [...scopes],
  };
  return { input, resources, caller, requestId, signal, accepted, seeOther, problem };
}

function locationReply(
  base: string,
  { status, location }: LocationResult,
  fields: ReplyFields,
): Reply {
  const address = addressOf(base, location);
  fields.set("Location", address);
  if (status === 202) return replyOf(status, fields, JSON.stringify({ location: address }));
  fields.delete("content-type");
  return replyOf(status, fields);
}

/** Throws for any other location, which is a bug of the action. */
function addressOf(base: string, location: string): string {
  const url = URL.parse(location, placeholder.href);
  // What is sent is resolved, so it is what is tested: `/a/..//host` resolves to `//host`.
  const resolved = url?.href.slice(placeholder.origin.length) ?? "";
  const isPath = url?.origin === placeholder.origin && location.startsWith("/");
  if (isPath && !resolved.startsWith("//")) return `${base}${resolved}`;
  const isAbsolute = url !== null && /^https?:\/\//i.test(location) && url.username === "";
  if (isAbsolute && url.password === "") return url.href;
  throw new TypeError(
    `an action's location must be an absolute path or an http URL, not ${JSON.stringify(location)}`,
  );
}

const placeholder = new URL("http://placeholder.invalid/");
