// Finds credentials, region and endpoint as the tools of AWS do: variables first, then the files in ~/.aws.

import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { FileOutage } from "../../model/outage.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
}

type Section = Readonly<Record<string, string>>;

/** What a profile needs that is not supported. */
const unsupported = ["role_arn", "sso_session", "sso_start_url", "credential_process"];

/** Throws when there are none. Reads the files each time, because other programs renew what is in them. */
export function findCredentials(environment: Environment): Credentials {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment;
  if (accessKeyId && secretAccessKey)
    return {
      accessKeyId,
      secretAccessKey,
      sessionToken: environment.AWS_SESSION_TOKEN || undefined,
    };
  const profile = profileOf(environment);
  const found =
    fromSection(sectionIn(credentialsFile(environment), profile)) ??
    fromSection(configSection(environment));
  if (found !== undefined) return found;
  throw new FileOutage("unavailable", missingText(profile, configSection(environment)));
}

/** Returns a setting of the environment, or of the profile. */
export function findSetting(
  environment: Environment,
  variables: readonly string[],
  name: string,
): string | undefined {
  const variable = variables.map((each) => environment[each]).find(Boolean);
  return variable ?? configSection(environment)?.[name];
}

const profileOf = (environment: Environment): string => environment.AWS_PROFILE || "default";

const folderOf = (environment: Environment): string => join(environment.HOME || homedir(), ".aws");

const credentialsFile = (environment: Environment): string =>
  environment.AWS_SHARED_CREDENTIALS_FILE || join(folderOf(environment), "credentials");

function configSection(environment: Environment): Section | undefined {
  const profile = profileOf(environment);
  const file = environment.AWS_CONFIG_FILE || join(folderOf(environment), "config");
  return sectionIn(file, profile === "default" ? profile : `profile ${profile}`);
}

/** Returns undefined when there is no such file or section. */
function sectionIn(file: string, name: string): Section | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const start = lines.findIndex((line) => headingOf(line) === name);
  if (start === -1) return undefined;
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => headingOf(line) !== undefined);
  return Object.fromEntries(rest.slice(0, end === -1 ? undefined : end).flatMap(entryOf));
}

const headingOf = (line: string): string | undefined =>
  line.startsWith("[") ? line.slice(1, line.indexOf("]")).trim().replace(/\s+/g, " ") : undefined;

function entryOf(line: string): readonly (readonly [string, string])[] {
  const at = /^[#;]/.test(line) ? -1 : line.indexOf("=");
  return at === -1 ? [] : [[line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim()]];
}

function fromSection(section: Section | undefined): Credentials | undefined {
  const accessKeyId = section?.aws_access_key_id;
  const secretAccessKey = section?.aws_secret_access_key;
  if (!accessKeyId || !secretAccessKey) return undefined;
  return { accessKeyId, secretAccessKey, sessionToken: section?.aws_session_token || undefined };
}

function missingText(profile: string, section: Section | undefined): string {
  const member = unsupported.find((name) => section?.[name] !== undefined);
  const places = `AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile ${profile} in ~/.aws/credentials`;
  return member === undefined
    ? `there are no credentials for S3: set ${places}`
    : `the profile ${profile} has ${member}, which is not supported: set ${places}`;
}
