// The command `health`: asks the server of these settings whether it is alive, or ready, for health checks.

import { get as getPlain } from "node:http";
import { get as getOverTls } from "node:https";
import { CliError, messageOf } from "../lib/cli-error.ts";
import type { Config } from "../server/config.ts";
import { localUrl } from "../server/local-url.ts";
import { apiPathOf } from "../server/places.ts";

/** Docker and others give a check five seconds. */
const timeoutMs = 4_000;

/** An image may know no localhost. */
const reachable: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

export interface HealthOptions {
  readonly ready?: true;
  readonly json?: true;
}

/** Throws a CliError when the server does not answer, or is not healthy. */
export async function checkHealth(config: Config, { ready, json }: HealthOptions): Promise<void> {
  if (config.port === 0)
    throw new CliError(2, "--port: 0 selects a free port, so name the port that the server has");
  const host = reachable[config.host] ?? config.host;
  const url = `${localUrl({ ...config, host }, config.port)}${apiPathOf(config)}/-/${ready ? "ready" : "health"}`;
  const { status, body } = await ask(url).catch((error) => {
    const hint = "Is it running, and with these settings?";
    throw new CliError(1, `${url}: no answer: ${messageOf(error)}. ${hint}`, { cause: error });
  });
  if (json) process.stdout.write(`${JSON.stringify({ url, status, ok: status === 200 })}\n`);
  else if (status === 200) process.stdout.write(`${url}: ok\n`);
  if (status === 200) return;
  throw new CliError(1, `${url}: ${status}${detailIn(body)}`);
}

interface HealthResponse {
  readonly status: number;
  readonly body: string;
}

/** The certificate is for the public host name, and nothing secret is sent, so that it is not checked. */
function ask(url: string): Promise<HealthResponse> {
  const signal = AbortSignal.timeout(timeoutMs);
  return new Promise((resolve, reject) => {
    const get = url.startsWith("https:") ? getOverTls : getPlain;
    get(url, { rejectUnauthorized: false, agent: false, signal }, async (response) => {
      let body = "";
      for await (const chunk of response) body += chunk;
      resolve({ status: response.statusCode ?? 0, body });
    }).on("error", reject);
  });
}

/** What a problem says about itself. */
function detailIn(body: string): string {
  const [, detail] = /"detail":"([^"]*)"/.exec(body) ?? [];
  return detail === undefined ? "" : `: ${detail}`;
}
