// Handles POST /-/console/tokens: signs the console in with the code of a link.

import type { Reply } from "../../lib/reply.ts";
import { Problem } from "../../model/problem.ts";
import { readSignInCode, tokenView } from "../../model/schemas/token.ts";
import { checkJsonBody, invalidBody, readBody, readText } from "../body/content.ts";
import { challenge, HttpProblem } from "../headers/http-problem.ts";
import { postTypes } from "../headers/media-type.ts";
import { checkWithoutValidators } from "../headers/without-validators.ts";
import type { RequestContext } from "../request/context.ts";
import { limitWrongTokens } from "../request/rate-limit.ts";
import { rejectParameters } from "../request/request-target.ts";
import { json } from "../response/response.ts";
import { switchedOff } from "./console.ts";

export async function signInToConsole(context: RequestContext): Promise<Reply | Problem> {
  const { services, request } = context;
  if (services.consoleFiles === undefined) return switchedOff;
  const rejected =
    rejectParameters(context) ??
    checkJsonBody(context, postTypes) ??
    checkWithoutValidators(request.headers, "is not shown");
  if (rejected !== undefined) return rejected;
  if (context.inClearText && services.tlsOnly) return tlsRequired;
  const text = readText(await readBody(context));
  if (text instanceof Problem) return text;
  const sent = readSignInCode(JSON.parse(text));
  if (!("code" in sent)) return invalidBody(sent);
  const issued = await services.tokens.exchangeCode(sent.code);
  if (issued === undefined) return limitWrongTokens(context) ?? invalidCode;
  const reply = json(context, 201, { ...tokenView(issued.token), token: issued.secret });
  reply.fields.set("Location", `${services.base}/-/tokens/${issued.token.id}`);
  return reply;
}

/** All failures look alike, as those of tokens do. */
const invalidCode = new HttpProblem(
  "unauthenticated",
  "This sign-in link is not valid: it was used already, is older than 15 minutes, or is not complete. `restante console` on the server prints a new one.",
  { "www-authenticate": challenge() },
);

const tlsRequired = new Problem(
  "tls-required",
  "Use https, and a new sign-in link: this code was sent without encryption.",
);
