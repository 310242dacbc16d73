// Defines every setting: flag, variable, help text, allowed values and default.

import { isIP } from "node:net";
import { availableParallelism } from "node:os";
import { isSecret } from "../model/token.ts";
import { allowedLocation } from "../store/s3/location.ts";
import { type BackupConfig, backupSettings } from "./backup-settings.ts";
import { type LimitConfig, limitSettings } from "./limit-settings.ts";
import { type LogConfig, logSettings } from "./log-settings.ts";
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
  wholeNumber,
} from "./setting-values.ts";
import { type TlsConfig, tlsSettings } from "./tls-settings.ts";
import { type TraceConfig, traceSettings } from "./trace-settings.ts";

export type { LogFormat, LogLevel } from "./log-settings.ts";
export type { Given, Setting } from "./setting-values.ts";

/** Settings that belong together have their types in a file of their own, such as `limit-settings.ts`. */
export interface Config extends LogConfig, TlsConfig, TraceConfig, LimitConfig, BackupConfig {
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
  /** The port of the metrics without a token. Undefined means none. */
  readonly metricsPort: number | undefined;
  readonly metricsHost: string;
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

export const settings: { readonly [Name in SettingName]: Setting<Config[Name]> } = {
  host: {
    flag: "--host",
    variable: "RESTANTE_HOST",
    type: "string",
    placeholder: "host",
    about:
      "The address to listen on. With localhost only this machine can connect; with 0.0.0.0 or :: any machine can.",
    allowed: "a host name or an IP address, without port and brackets",
    fallback: "localhost",
    read: address,
  },
  port: {
    flag: "--port",
    variable: "RESTANTE_PORT",
    type: "number",
    placeholder: "number",
    about: "The TCP port to listen on; 0 selects a free one.",
    allowed: "a whole number from 0 to 65535",
    fallback: "8080",
    read: (text) => wholeNumber(text, 0, 65_535),
  },
  data: {
    flag: "--data",
    variable: "RESTANTE_DATA",
    type: "string",
    placeholder: "folder",
    about: "The data folder of the embedded store; it is created if it does not exist.",
    allowed: "the path of a folder",
    fallback: "./data",
    read: folderPath,
  },
  baseUrl: {
    flag: "--base-url",
    variable: "RESTANTE_BASE_URL",
    type: "string",
    placeholder: "url",
    about:
      "The public URL of this server, including a path prefix behind a proxy. Location and Link are built from it; without it they are absolute paths.",
    allowed:
      "an absolute http or https URL without user, query and fragment, such as https://example.org/api",
    fallback: undefined,
    read: baseUrl,
  },
  allowedHosts: {
    flag: "--allowed-hosts",
    variable: "RESTANTE_ALLOWED_HOSTS",
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
    flag: "--trust-proxy",
    variable: "RESTANTE_TRUST_PROXY",
    type: "list",
    placeholder: "addresses",
    about: "The proxies whose X-Forwarded-* headers are trusted. Default: none.",
    allowed: "IP addresses or CIDR ranges separated by commas, such as 127.0.0.1,10.0.0.0/8",
    fallback: "",
    isReloadable: true,
    read: (text) => listOf(text, isAddressRange),
  },
  adminToken: {
    flag: undefined,
    variable: "RESTANTE_ADMIN_TOKEN",
    type: "string",
    placeholder: "token",
    about:
      "The first admin token, for unattended installs; used when the store has no token yet. There is no flag, because other users of the machine can see command lines.",
    allowed: "a secret as `restante token secret` prints one",
    fallback: undefined,
    isPrivate: true,
    read: (text) => (isSecret(text) ? text : undefined),
  },
  corsOrigins: {
    flag: "--cors-origins",
    variable: "RESTANTE_CORS_ORIGINS",
    type: "list",
    placeholder: "origins",
    about: "The origins whose pages may call this server from a browser (CORS).",
    allowed: "*, none, or origins separated by commas, such as https://app.example.org",
    fallback: "*",
    isReloadable: true,
    read: (text) => (text === "*" ? text : text === "none" ? [] : listOf(text, isOrigin)),
  },
  console: {
    flag: "--console",
    variable: "RESTANTE_CONSOLE",
    about: "Whether the web console is served at /-/console, where a browser at / is sent.",
    fallback: "on",
    isReloadable: true,
    ...onOrOff,
  },
  metricsPort: {
    flag: "--metrics-port",
    variable: "RESTANTE_METRICS_PORT",
    type: "number",
    placeholder: "number",
    about:
      "A second port that serves only the metrics, without a token; 0 selects a free one. Default: none.",
    allowed: "a whole number from 0 to 65535",
    fallback: undefined,
    read: (text) => wholeNumber(text, 0, 65_535),
  },
  metricsHost: {
    flag: "--metrics-host",
    variable: "RESTANTE_METRICS_HOST",
    type: "string",
    placeholder: "host",
    about: "The address to listen on for --metrics-port.",
    allowed: "a host name or an IP address, without port and brackets",
    fallback: "localhost",
    read: address,
  },
  ...logSettings,
  ...tlsSettings,
  ...traceSettings,
  ...limitSettings,
  ...backupSettings,
  files: {
    flag: "--files",
    variable: "RESTANTE_FILES",
    type: "string",
    placeholder: "place",
    about:
      "Where uploaded files are stored: a folder, which is created if it does not exist, or a bucket, as s3://bucket/prefix?endpoint=…&region=…. Nodes that share a Postgres database must share this place too. Default: files in the data folder.",
    allowed: `the path of a folder, or ${allowedLocation}`,
    fallback: undefined,
    isPrivate: true,
    read: folderOrBucket,
  },
  store: {
    flag: "--store",
    variable: "RESTANTE_STORE",
    type: "string",
    placeholder: "url",
    about:
      "The URL of a Postgres database that stores the data instead of the data folder; many nodes can share it. If the URL has a password, use the variable: other users of the machine can see command lines.",
    allowed: "a URL such as postgres://user:password@host:5432/database, with one host",
    fallback: undefined,
    isPrivate: true,
    read: postgresUrl,
  },
  readStore: {
    flag: "--read-store",
    variable: "RESTANTE_READ_STORE",
    type: "string",
    placeholder: "url",
    about:
      "The URL of a replica of the --store database, for reads. Writes then wait until the replica has them, so that clients read what they wrote.",
    allowed: "a URL such as postgres://user:password@host:5432/database, with one host",
    fallback: undefined,
    isPrivate: true,
    read: postgresUrl,
  },
  workers: {
    flag: "--workers",
    variable: "RESTANTE_WORKERS",
    type: "number",
    placeholder: "number",
    about:
      "The number of processes that handle requests; auto means one for each core. A process that exits is restarted.",
    allowed: "a whole number from 1 to 256, or auto",
    fallback: "1",
    read: (text) => (text === "auto" ? availableParallelism() : wholeNumber(text, 1, 256)),
  },
  collections: {
    flag: "--collections",
    variable: "RESTANTE_COLLECTIONS",
    type: "string",
    placeholder: "folder",
    about:
      "A folder of collection definitions, loaded at start: people.json defines the collection people.",
    allowed: "the path of a folder",
    fallback: undefined,
    isReloadable: true,
    read: folderPath,
  },
  actions: {
    flag: "--actions",
    variable: "RESTANTE_ACTIONS",
    type: "string",
    placeholder: "folder",
    about:
      "A folder of actions, which are TypeScript or JavaScript modules: send-invoice.ts handles POST /-/actions/send-invoice.",
    allowed: "the path of a folder",
    fallback: undefined,
    isReloadable: true,
    read: folderPath,
  },
};

export const settingNames = Object.keys(settings) as readonly SettingName[];
