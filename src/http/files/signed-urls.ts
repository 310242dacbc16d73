// Handles POST /-/signed-urls: signs the URL of a file that the caller may read.

import { fileAt } from "../../domain/resources.ts";
import type { Reply } from "../../lib/reply.ts";
import { isCollectionName } from "../../model/id.ts";
import { Problem } from "../../model/problem.ts";
import { readSignedUrlRequest } from "../../model/schemas/signed-url.ts";
import { timeText } from "../../model/schemas/time.ts";
import { readAuthorizedBody } from "../body/authorized-body.ts";
import { checkJsonBody, invalidBody, readText } from "../body/content.ts";
import { postTypes } from "../headers/media-type.ts";
import { checkWithoutValidators } from "../headers/without-validators.ts";
import type { RequestContext } from "../request/context.ts";
import {
  decodeSegment,
  findCredential,
  readSearchParams,
  readTarget,
  rejectParameters,
} from "../request/request-target.ts";
import { withSignature } from "../request/signature.ts";
import { json } from "../response/response.ts";
import { readFileParameters, readPictureRequest } from "./parameters.ts";

export async function signUrl(context: RequestContext): Promise<Reply | Problem> {
  const { services } = context;
  const rejected =
    rejectParameters(context) ??
    checkJsonBody(context, postTypes) ??
    checkWithoutValidators(context.request.headers, "is not shown");
  if (rejected !== undefined) return rejected;
  const text = readText(await readAuthorizedBody(context));
  if (text instanceof Problem) return text;
  const request = readSignedUrlRequest(JSON.parse(text));
  if (!("path" in request)) return invalidBody(request);
  const target = readFileTarget(request.path, services.base);
  if (target instanceof Problem) return target;
  const signed = await sign(context, target, request.expiresIn);
  if (signed instanceof Problem) return signed;
  const url = `${services.base}${withSignature(target.text, signed.signature)}`;
  return json(context, 200, { url, expiresAt: timeText(signed.expiresAt) });
}

/** The path and query of a file. */
interface FileTarget {
  readonly text: string;
  readonly collection: string;
  readonly id: string;
  readonly name: string;
}

async function sign({ services, principal }: RequestContext, target: FileTarget, seconds: number) {
  const access = await services.access.open(principal, target.collection, "read", target.id);
  if (access instanceof Problem) return access;
  const shown = await services.resources.find(access, target.id);
  if (shown instanceof Problem) return shown;
  const file = fileAt(shown, target.name);
  if (file instanceof Problem) return file;
  return services.signedUrls.sign(access, file, target.text, seconds);
}

/** `url` is a path, or begins with the public URL of this server. */
function readFileTarget(url: string, base: string): FileTarget | Problem {
  const isAbsolute = base !== "" && url.startsWith(`${base}/`);
  const given = isAbsolute ? url.slice(base.length) : url;
  if (!onePath.test(given)) return invalidPath(notFile);
  const target = readTarget(`http://localhost${given}`, "localhost");
  if (target instanceof Problem) return invalidPath(target.detail);
  // As clients send it, who encode more characters than they must.
  const { pathname, search } = new URL(`http://localhost${given}`);
  const [, collection, id, name, more] = pathname.split("/").map(decodeSegment);
  const isFile = typeof collection === "string" && isCollectionName(collection);
  if (!isFile || typeof id !== "string" || typeof name !== "string" || more !== undefined)
    return invalidPath(notFile);
  return checkQuery(target.query) ?? { text: pathname + search, collection, id, name };
}

const onePath = /^\/[^\s/][^\s]*$/;
const notFile = "must be the URL of a file on this server, such as /people/1/photo";

/** A URL that would be rejected is not signed. */
function checkQuery(query: string): Problem | undefined {
  const searchParams = readSearchParams(query);
  const credential = findCredential(searchParams);
  if (credential !== undefined)
    return invalidPath(`the parameter ${credential} looks like a credential; leave it out`);
  const parameters = readFileParameters(searchParams);
  const request = parameters instanceof Problem ? parameters : readPictureRequest(parameters);
  const [error] = (request instanceof Problem && request.errors) || [];
  return error && invalidPath(`must have valid parameters. ${error.detail}`);
}

const invalidPath = (detail: string): Problem => invalidBody([{ pointer: "/path", detail }]);
