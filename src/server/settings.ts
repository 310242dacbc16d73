// Defines every setting: help text, allowed values and default. Its name gives its flag and its variable.

import { isIP } from "node:net";
import { availableParallelism } from "node:os";
import { readDuration } from "../lib/duration.ts";
import { isSecret } from "../model/secret.ts";
import { allowedLocation } from "../store/s3/location.ts";
import { type LimitConfig, limitSettings } from "./limit-settings.ts";
import {
  baseUrl,
  folderOrBucket,
  folderPath,
  type Given,
  hostName,
  isAddressRange,
  isAuthority,
  isOrigin,
  listOf,
  onOrOff,
  postgresUrl,
  type Setting,
  type SettingEntry,
  wholeNumber,
  wholeNumbers,
} from "./setting-values.ts";
import { type TraceConfig, traceSettings } from "./trace-settings.ts";

export type { Given, Setting } from "./setting-values.ts";

const logLevels = ["info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

const logFormats = ["auto", "json", "text"] as const;
export type LogFormat = (typeof logFormats)[number];

export interface Config extends TraceConfig, LimitConfig {
  readonly host: string;
  readonly port: number;
  /** Absolute path of the folder. */
  readonly data: string;
  /** Scheme, authority and path prefix, without a slash at the end. */
  readonly baseUrl: string | undefined;
  /** Hosts in addition to that of the base URL, each with a port or for any; `*` for every host. */
  readonly allowedHosts: readonly string[];
  /** IP addresses and CIDR ranges. */
  readonly trustProxy: readonly string[];
  readonly adminToken: string | undefined;
  readonly corsOrigins: "*" | readonly string[];
  readonly console: "on" | "off";
  /** The port of the console with an API of its own. Undefined means that the console is on the port of the API. */
  readonly consolePort: number | undefined;
  /** Absolute path of the folder of a website. Undefined means that there is none. */
  readonly public: string | undefined;
  /** Undefined means `/api` beside a website, and none without one. */
  readonly apiPath: string | undefined;
  /** The port of the metrics without a token. Undefined means none. */
  readonly metricsPort: number | undefined;
  readonly metricsHost: string;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  /** The share of requests without an error that is logged, 0 to 1. */
  readonly logSample: number;
  /** Absolute path of the certificate chain. Undefined means plain HTTP. */
  readonly tlsCert: string | undefined;
  /** Absolute path of the private key. */
  readonly tlsKey: string | undefined;
  /** Absolute path of a folder of backups. Undefined means that none are made. */
  readonly backupTo: string | undefined;
  /** Milliseconds between two backups. */
  readonly backupEvery: number;
  /** How many milliseconds backups are kept. Undefined means for ever. */
  readonly backupKeep: number | undefined;
  /** Absolute path of the folder of files, or the s3:// URL of a bucket. Undefined means `files` in the data folder. */
  readonly files: string | undefined;
  /** The number of processes that handle requests. */
  readonly workers: number;
  /** The URL of a Postgres database. Undefined means the embedded store. */
  readonly store: string | undefined;
  /** A replica of that database, for reads. */
  readonly readStore: string | undefined;
  /** Absolute path of a folder of definitions. */
  readonly collections: string | undefined;
  /** Absolute path of a folder of actions. */
  readonly actions: string | undefined;
  /** What the value of each setting was read from. */
  readonly givens: Readonly<Record<SettingName, Given>>;
}

export type SettingName = Exclude<keyof Config, "givens">;

const address = (text: string): string | undefined =>
  isIP(text) > 0 || hostName.test(text) ? text : undefined;

function duration(text: string): number | undefined {
  const ms = readDuration(text);
  return ms !== undefined && ms >= 60_000 && ms <= 3_650 * 86_400_000 ? ms : undefined;
}

const definitions: { readonly [Name in SettingName]: SettingEntry<Config[Name]> } = {
  host: {
    placeholder: "host",
    about:
      "The address to listen on. With localhost only this machine can connect; with 0.0.0.0 or :: any machine can.",
    allowed: "a host name or an IP address, without port and brackets",
    fallback: "localhost",
    read: address,
  },
  port: {
    about: "The TCP port to listen on; 0 selects a free one.",
    fallback: "8080",
    ...wholeNumbers("number", 0, 65_535),
  },
  data: {
    placeholder: "folder",
    about: "The data folder of the embedded store; it is created if it does not exist.",
    allowed: "the path of a folder",
    fallback: "./data",
    read: folderPath,
  },
  baseUrl: {
    placeholder: "url",
    about:
      "The public URL of this server, including a path prefix behind a proxy. Location and Link are built from it; without it they are absolute paths.",
    allowed:
      "an absolute http or https URL without user, query and fragment, such as https://example.org/api",
    read: baseUrl,
  },
  allowedHosts: {
    type: "list",
    placeholder: "hosts",
    about:
      "Hosts that are accepted in addition to that of --base-url; a request for any other Host is rejected with 421. Default: only the host of --base-url, or every host without it.",
    allowed:
      "*, or host names and IP addresses, with a port or for any port, such as api.internal,[::1]:8080",
    fallback: "",
    isReloadable: true,
    read: (text) => listOf(text, isAuthority),
  },
  trustProxy: {
    type: "list",
    placeholder: "addresses",
    about: "The proxies whose X-Forwarded-* headers are trusted. Default: none.",
    allowed: "IP addresses or CIDR ranges separated by commas, such as 127.0.0.1,10.0.0.0/8",
    fallback: "",
    isReloadable: true,
    read: (text) => listOf(text, isAddressRange),
  },
  adminToken: {
    isOnlyVariable: true,
    placeholder: "token",
    about:
      "The first admin token, for unattended installs; used when the store has no token yet. There is no flag, because other users of the machine can see command lines.",
    allowed: "a secret as `restante token secret` prints one",
    isPrivate: true,
    read: (text) => (isSecret(text) ? text : undefined),
  },
  corsOrigins: {
    type: "list",
    placeholder: "origins",
    about: "The origins whose pages may call this server from a browser (CORS).",
    allowed: "*, none, or origins separated by commas, such as https://app.example.org",
    fallback: "*",
    isReloadable: true,
    read: (text) => (text === "*" ? text : text === "none" ? [] : listOf(text, isOrigin)),
  },
  console: {
    about:
      "Whether the web console is served at /-/console, where a browser at / is sent. Beside a website it needs --console-port.",
    fallback: "on",
    isReloadable: true,
    ...onOrOff,
  },
  consolePort: {
    about:
      "A second port for the web console, with the API at its root; the console is then on no other port. 0 selects a free one. Default: none.",
    ...wholeNumbers("number", 0, 65_535),
  },
  public: {
    placeholder: "folder",
    about:
      "A folder with a website, which is served beside the API. The API, with all of /-/, is then below --api-path, and the console only on --console-port. Default: none.",
    allowed: "the path of a folder",
    read: folderPath,
  },
  apiPath: {
    placeholder: "path",
    about:
      "The path that the API, with all of /-/, is below, for a website or a proxy that passes paths on unchanged. It is added to --base-url. Default: /api with --public, and none without it.",
    allowed:
      "a path of letters, digits, - and _, without a slash at the end, such as /api or /v1/api",
    read: (text) => (/^(?:\/[\w-]+)+$/.test(text) ? text : undefined),
  },
  metricsPort: {
    about:
      "A second port that serves only the metrics, without a token; 0 selects a free one. Default: none.",
    ...wholeNumbers("number", 0, 65_535),
  },
  metricsHost: {
    placeholder: "host",
    about: "The address to listen on for --metrics-port.",
    allowed: "a host name or an IP address, without port and brackets",
    fallback: "localhost",
    read: address,
  },
  logLevel: {
    placeholder: "level",
    about: "The log level; info logs every request.",
    allowed: "info, warn, error or silent",
    choices: logLevels,
    fallback: "info",
    isReloadable: true,
    read: (text) => logLevels.find((level) => level === text),
  },
  logFormat: {
    placeholder: "format",
    about:
      "The format of the log: json for programs, text for people; auto is text on a terminal and json elsewhere.",
    allowed: "auto, json or text",
    choices: logFormats,
    fallback: "auto",
    isReloadable: true,
    read: (text) => logFormats.find((format) => format === text),
  },
  logSample: {
    type: "number",
    placeholder: "share",
    about:
      "The share of requests that are logged, such as 0.1. Errors and requests that take a second or more are always logged.",
    allowed: "a number from 0 to 1",
    fallback: "1",
    isReloadable: true,
    read: (text) => (/^(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?)$/.test(text) ? Number(text) : undefined),
  },
  tlsCert: {
    placeholder: "file",
    about:
      "The certificate of the server, followed by those of its issuers, in PEM; the server then speaks TLS only. A new one on disk is used within seconds. Default: plain HTTP.",
    allowed: "the path of a file",
    read: folderPath,
  },
  tlsKey: {
    placeholder: "file",
    about: "The private key of the certificate, in PEM, not encrypted.",
    allowed: "the path of a file",
    read: folderPath,
  },
  ...traceSettings,
  ...limitSettings,
  backupTo: {
    placeholder: "place",
    about:
      "A folder for backups, or a bucket, as s3://bucket/prefix?endpoint=…&region=…. They are made while the server runs. It must not be within the data folder or the place of files. Default: no backups.",
    allowed: `the path of a folder, or ${allowedLocation}`,
    read: (text, folder) =>
      /\.(?:tar|tgz|gz|zst)$/.test(text) ? undefined : folderOrBucket(text, folder),
  },
  backupEvery: {
    placeholder: "time",
    about: "The time between two backups.",
    allowed: "a time from 1m to 3650d, such as 6h",
    fallback: "24h",
    read: duration,
  },
  backupKeep: {
    placeholder: "time",
    about: "How long backups are kept; the newest always stays. Default: for ever.",
    allowed: "a time from 1m to 3650d, such as 7d",
    read: duration,
  },
  files: {
    placeholder: "place",
    about:
      "Where uploaded files are stored: a folder, which is created if it does not exist, or a bucket, as s3://bucket/prefix?endpoint=…&region=…. Nodes that share a Postgres database must share this place too. Default: files in the data folder.",
    allowed: `the path of a folder, or ${allowedLocation}`,
    isPrivate: true,
    read: folderOrBucket,
  },
  store: {
    placeholder: "url",
    about:
      "The URL of a Postgres database that stores the data instead of the data folder; many nodes can share it. If the URL has a password, use the variable: other users of the machine can see command lines.",
    allowed: "a URL such as postgres://user:password@host:5432/database, with one host",
    isPrivate: true,
    read: postgresUrl,
  },
  readStore: {
    placeholder: "url",
    about:
      "The URL of a replica of the --store database, for reads. Writes then wait until the replica has them, so that clients read what they wrote.",
    allowed: "a URL such as postgres://user:password@host:5432/database, with one host",
    isPrivate: true,
    read: postgresUrl,
  },
  workers: {
    type: "number",
    placeholder: "number",
    about:
      "The number of processes that handle requests; auto means one for each core. A process that exits is restarted.",
    allowed: "a whole number from 1 to 256, or auto",
    fallback: "1",
    read: (text) => (text === "auto" ? availableParallelism() : wholeNumber(text, 1, 256)),
  },
  collections: {
    placeholder: "folder",
    about:
      "A folder of collection definitions, loaded at start: people.json defines the collection people.",
    allowed: "the path of a folder",
    isReloadable: true,
    read: folderPath,
  },
  actions: {
    placeholder: "folder",
    about:
      "A folder of actions, which are TypeScript or JavaScript modules: send-invoice.ts handles POST /-/actions/send-invoice.",
    allowed: "the path of a folder",
    isReloadable: true,
    read: folderPath,
  },
};

export const settingNames = Object.keys(definitions) as readonly SettingName[];

export const settings = Object.fromEntries(
  settingNames.map((name) => {
    const words = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const flag = definitions[name].isOnlyVariable ? undefined : `--${words}`;
    const variable = `RESTANTE_${words.replaceAll("-", "_").toUpperCase()}`;
    return [name, { type: "string", ...definitions[name], flag, variable }];
  }),
) as unknown as { readonly [Name in SettingName]: Setting<Config[Name]> };
