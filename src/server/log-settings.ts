// The settings of the log: its level, its format, and how many of the requests it has.

import type { Setting } from "./setting-values.ts";

const logLevels = ["info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

const logFormats = ["auto", "json", "text"] as const;
export type LogFormat = (typeof logFormats)[number];

export interface LogConfig {
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  /** The share of requests without an error that is logged, 0 to 1. */
  readonly logSample: number;
}

export const logSettings: { readonly [Name in keyof LogConfig]: Setting<LogConfig[Name]> } = {
  logLevel: {
    flag: "--log-level",
    variable: "RESTANTE_LOG_LEVEL",
    type: "string",
    placeholder: "level",
    about: "The log level; info logs every request.",
    allowed: "info, warn, error or silent",
    choices: logLevels,
    fallback: "info",
    isReloadable: true,
    read: (text) => logLevels.find((level) => level === text),
  },
  logFormat: {
    flag: "--log-format",
    variable: "RESTANTE_LOG_FORMAT",
    type: "string",
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
    flag: "--log-sample",
    variable: "RESTANTE_LOG_SAMPLE",
    type: "number",
    placeholder: "share",
    about:
      "The share of requests that are logged, such as 0.1. Errors and requests that take a second or more are always logged.",
    allowed: "a number from 0 to 1",
    fallback: "1",
    isReloadable: true,
    read: (text) => (/^(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?)$/.test(text) ? Number(text) : undefined),
  },
};
