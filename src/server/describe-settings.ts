// Describes the settings of a config for administrators: each value without its secret, and where it comes from.

import { isAbsolute } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { SettingValue } from "../domain/settings.ts";
import { type Config, parseGiven, type SettingName, settingNames, settings } from "./config.ts";

export const describeSettings = (config: Config): readonly SettingValue[] =>
  settingNames.map((name) => {
    const given = config.givens[name];
    // Another value was passed by a program.
    const isGiven = isDeepStrictEqual(parseGiven(given, settings[name]), config[name]);
    return {
      name,
      value: shownValue(name, config[name], given.value),
      source: isGiven ? given.source : "program",
      from: isGiven ? given.from : null,
      reloadable: settings[name].isReloadable ?? false,
    };
  });

/** Returns the value as a file would have it. */
function shownValue(
  name: SettingName,
  value: Config[SettingName],
  given: unknown,
): SettingValue["value"] {
  const { isPrivate, type, fallback = null } = settings[name];
  if (value === undefined) return null;
  if (isPrivate) return withoutSecret(String(value));
  // A time such as 24h is stored as a number.
  const isTime = type === "string" && typeof value === "number";
  if (!isTime) return value;
  return typeof given === "string" ? given : fallback;
}

/** A URL may have a password in its user part or its query. A path has no secret. */
function withoutSecret(text: string): string {
  if (isAbsolute(text)) return text;
  const url = URL.parse(text);
  return url === null ? "(redacted)" : `${url.protocol}//${url.host}${url.pathname}`;
}
