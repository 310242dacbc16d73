// Shows lines of the log to a person: short, with colours where the terminal has them.

import { styleText } from "node:util";

interface LogLine extends Readonly<Record<string, unknown>> {
  readonly level?: number;
  readonly time?: string;
  readonly msg?: string;
  readonly method?: string;
  readonly path?: string;
  readonly status?: number;
  readonly ms?: number;
  readonly errors?: readonly string[];
  readonly err?: { readonly message?: string; readonly stack?: string };
}

/** Each line of JSON becomes one line of text; an error is followed by its stack. */
export const linesAsText = (lines: string): string =>
  lines
    .split("\n")
    .map((line) => (line.startsWith("{") ? textOf(JSON.parse(line)) : line))
    .join("\n");

function textOf(line: LogLine): string {
  const isRequest = line.msg === undefined && line.status !== undefined;
  const parts = isRequest ? requestText(line) : eventText(line);
  return `${paint("dim", clockTime(line.time))} ${parts.filter((part) => part !== "").join(" ")}`;
}

function requestText({
  level,
  time,
  requestId,
  method,
  path,
  status = 0,
  ms = 0,
  ...rest
}: LogLine) {
  const { problem, client, ...others } = rest;
  return [
    paint(colourOf(status), String(status)),
    `${safe(method)} ${safe(path)}`,
    problem === undefined ? "" : paint(colourOf(status), safe(problem)),
    paint("dim", `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`),
    paint("dim", membersText({ ...others, client })),
  ];
}

function eventText({ level = 30, time, msg, err, errors = [], ...rest }: LogLine) {
  const [name, colour] = level >= 50 ? red : level >= 40 ? yellow : blue;
  const stack = err ? [safeLines(err.stack ?? err.message)] : [];
  const below = [...errors.map((error) => `  ${safe(error)}`), ...stack];
  const parts = [paint(colour, name), safe(msg), paint("dim", membersText(rest))];
  return [[parts.filter((part) => part !== "").join(" "), ...below].join("\n")];
}

type TextStyle = Parameters<typeof styleText>[0];

const red = ["error", "red"] as const;
const yellow = ["warn", "yellow"] as const;
const blue = ["info", "blue"] as const;

const colourOf = (status: number): TextStyle =>
  status >= 500 ? "red" : status >= 400 ? "yellow" : status >= 300 ? "cyan" : "green";

/** With the stream given, there are no colours when NO_COLOR is set or the output is no terminal. */
const paint = (colour: TextStyle, text: string): string =>
  text === "" ? "" : styleText(colour, text, { stream: process.stdout });

const membersText = (members: Readonly<Record<string, unknown>>): string =>
  Object.entries(members)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${safe(name)}=${safe(value)}`)
    .join(" ");

const clockTime = (time = new Date().toISOString()): string => {
  const date = new Date(time);
  const [hours, minutes, seconds] = [date.getHours(), date.getMinutes(), date.getSeconds()];
  return [hours, minutes, seconds].map((part) => String(part).padStart(2, "0")).join(":");
};

/** Lets no client control the terminal: control and format characters are shown by their codes. */
const safe = (value: unknown): string =>
  (typeof value === "string" ? value : (JSON.stringify(value) ?? "")).replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );

const safeLines = (text = ""): string => text.split("\n").map(safe).join("\n");
