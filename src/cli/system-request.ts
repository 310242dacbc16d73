// Makes requests to the app of a command, and turns problems into messages for the terminal.

import { CliError, usageError } from "../lib/cli-error.ts";
import type { ProblemBody } from "../model/schemas/problem.ts";
import type { Config } from "../server/config.ts";

/** Requests of commands have no network address. */
export const localUrl = (path: string): string => `http://localhost${path}`;

/** The operator waits for long queries, and is not limited. */
export const operatorConfig = (config: Config): Config => ({
  ...config,
  queryDeadline: 24 * 60 * 60,
  rateLimitPerAddress: 0,
  rateLimitPerToken: 0,
});

/** The request as a whole is wrong, so nothing was written, and the same command fails again. */
export class RejectedRequest extends CliError {}

/**
 * Returns the response if it is successful. `flagOf` names the flag of a wrong parameter, which is wrong
 * usage; `name` is what else can be wrong.
 */
export async function requireSuccess(
  response: Response,
  name: string,
  flagOf: (parameter: string) => string,
): Promise<Response> {
  if (response.ok) return response;
  const problem = (await response.json()) as ProblemBody;
  const wrong = (problem.errors ?? []).flatMap(({ parameter, detail }) =>
    parameter === undefined ? [] : [{ where: flagOf(parameter), detail }],
  );
  if (wrong.length > 0) throw usageError(wrong);
  const text = `${name}: ${problemText(problem)}`;
  throw response.status < 500 ? new RejectedRequest(1, text) : new CliError(1, text);
}

type ListedError = NonNullable<ProblemBody["errors"]>[number];

const placeOf = ({ pointer, parameter = "" }: ListedError): string => pointer ?? parameter;

/** Returns a problem in one line: each error with its place, or the detail. */
export function problemText({ detail, errors = [] }: ProblemBody): string {
  if (errors.length === 0) return detail;
  return errors
    .map((error) => {
      const place = placeOf(error);
      return place === "" ? error.detail : `${place} ${error.detail}`;
    })
    .join("; ");
}
