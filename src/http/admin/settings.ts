// Handles the admin route of settings.

import { Problem } from "../../model/problem.ts";
import { checkAccept, jsonTypes } from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { rejectParameters } from "../request/request-target.ts";
import { json } from "../response/response.ts";

export function listSettings(context: RequestContext): Response | Problem {
  const rejected = rejectParameters(context) ?? checkAccept(context.request.headers, jsonTypes);
  if (rejected !== undefined) return rejected;
  const data = context.services.settings.list(context.principal);
  return data instanceof Problem ? data : json(context, 200, { data });
}
