// Describes the settings of a config for administrators: each value without its secret, and where it comes from.

import { isAbsolute } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { SettingValue } from "../domain/settings.ts";
import { type Config, defaultConfig, type Given, givenSettings, settings } from "./config.ts";

const names = Object.keys(settings) as readonly (keyof Config)[];

export function describeSettings(config: Config): readonly SettingValue[] {
  const givens = givenSettings(config);
  return names.map((name) => ({
    name,
    value: shownValue(name, config[name], givens?.get(name)),
    ...(givens === undefined ? originInProgram(name, config[name]) : originOf(givens.get(name))),
    reloadable: settings[name].isReloadable ?? false,
  }));
}

type Origin = Pick<SettingValue, "source" | "from">;

const byDefault: Origin = { source: "default", from: null };

const originOf = (given: Given | undefined): Origin =>
  given === undefined ? byDefault : { source: given.source, from: given.from };

/** A program passes values, not their texts. */
const originInProgram = (name: keyof Config, value: unknown): Origin =>
  isDeepStrictEqual(value, defaultConfig[name]) ? byDefault : { source: "program", from: null };

/** Returns the value as a file would have it. */
function shownValue(
  name: keyof Config,
  value: Config[keyof Config],
  given: Given | undefined,
): SettingValue["value"] {
  const { isPrivate, type, fallback = null } = settings[name];
  if (value === undefined) return null;
  if (isPrivate) return withoutSecret(String(value));
  // A time such as 24h is stored as a number.
  const isTime = type === "string" && typeof value === "number";
  if (!isTime) return value;
  return typeof given?.value === "string" ? given.value : fallback;
}

/** A URL may have a password in its user part or its query. A path has no secret. */
function withoutSecret(text: string): string {
  if (isAbsolute(text)) return text;
  const url = URL.parse(text);
  return url === null ? "(redacted)" : `${url.protocol}//${url.host}${url.pathname}`;
}
