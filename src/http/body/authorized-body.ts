// Reads the body of a request whose handler does not compare the rights of its caller at a commit.

import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import { Problem } from "../../model/problem.ts";
import { authorizeAgain } from "../request/authorize.ts";
import type { RequestContext } from "../request/context.ts";
import { readBody } from "./content.ts";

/** Reads the whole body. When it has to be waited for, the caller must still have the permission then. */
export function readAuthorizedBody(context: RequestContext): MaybePromise<Uint8Array | Problem> {
  const body = readBody(context);
  if (!(body instanceof Promise)) return body;
  return body.then((bytes) =>
    bytes instanceof Problem
      ? bytes
      : then(authorizeAgain(context), (rejected) => rejected ?? bytes),
  );
}
