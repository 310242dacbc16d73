// Handles the admin routes of settings: showing and reloading them.

import type { Reply } from "../../lib/reply.ts";
import { Problem } from "../../model/problem.ts";
import { isChunked } from "../body/framing.ts";
import { checkAccept, jsonTypes } from "../headers/media-type.ts";
import { checkWithoutValidators } from "../headers/without-validators.ts";
import type { RequestContext } from "../request/context.ts";
import { rejectParameters } from "../request/request-target.ts";
import { json } from "../response/response.ts";

export function listSettings(context: RequestContext): Reply | Problem {
  const rejected = rejectParameters(context) ?? checkAccept(context.request.headers, jsonTypes);
  if (rejected !== undefined) return rejected;
  const data = context.services.settings.list(context.principal);
  return data instanceof Problem ? data : json(context, 200, { data });
}

export async function reloadSettings(context: RequestContext): Promise<Reply | Problem> {
  const { headers } = context.request;
  const rejected = rejectParameters(context) ?? checkAccept(headers, jsonTypes);
  if (rejected !== undefined) return rejected;
  if (isChunked(headers) || Number(headers.get("content-length")) > 0) return noBody;
  const failed = checkWithoutValidators(headers, "is shown");
  if (failed !== undefined) return failed;
  const reloaded = await context.services.settings.reload(context.principal);
  return reloaded instanceof Problem ? reloaded : json(context, 200, reloaded);
}

const noBody = new Problem(
  "invalid-body",
  "Send no body. Settings are changed in the configuration file, and this request lets the server read it again.",
);
