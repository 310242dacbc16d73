// The section on the console, and whether what was asked for is reached.

import { milliseconds, whole } from "./numbers.ts";
import { figuresOf, type Results } from "./results.ts";
import { table } from "./tables.ts";
import { atMost, type Verdict } from "./verdict.ts";

export function consoleVerdicts(results: Results): readonly Verdict[] {
  const lines = figuresOf(results, "console")?.lines;
  const most = (values: readonly number[] | undefined) => values && Math.max(...values);
  const kilobytes = most(lines?.map(({ loadedBytes }) => loadedBytes / 1_000));
  const interactive = most(lines?.map(({ interactiveMs }) => interactiveMs));
  const jump = most(lines?.map(({ jump }) => jump.medianMs));
  return [
    atMost("First load of the console", "until rows are shown", 150, " KB", kilobytes),
    atMost("Console interactive", "nothing cached", 1_000, " ms", interactive),
    atMost("Jump in a grid of 1,000,000", "median, until painted", 100, " ms", jump),
  ];
}

export function consoleSection(results: Results): readonly string[] {
  const figures = figuresOf(results, "console");
  if (figures === undefined) return [];
  const { lines, resources } = figures;
  return [
    "## The console",
    `In Chromium without a display, 1280 × 800, on the same machine as the server, with ${whole(resources)} resources. The first load is a visit with nothing cached, until the first rows of the list are shown and the page is idle. A jump moves the scroll bar to a random place, and ends when all rows there are painted; \`PageDown\` goes on by one screen. What the request takes is seen from the page.`,
    table(
      ["", ...lines.map(({ engine }) => engine)],
      [
        ["first load, KB sent", ...lines.map(({ loadedBytes }) => whole(loadedBytes / 1_000))],
        ["first load, requests", ...lines.map(({ requests }) => whole(requests))],
        ["rows shown and idle, ms", ...lines.map(({ interactiveMs }) => whole(interactiveMs))],
        ["jump, median ms", ...lines.map(({ jump }) => milliseconds(jump.medianMs))],
        ["jump, p95 ms", ...lines.map(({ jump }) => milliseconds(jump.p95Ms))],
        ["of it the request, median ms", ...lines.map(({ jump }) => milliseconds(jump.requestMs))],
        ["PageDown, median ms", ...lines.map(({ pageDown }) => milliseconds(pageDown.medianMs))],
        ["PageDown, p95 ms", ...lines.map(({ pageDown }) => milliseconds(pageDown.p95Ms))],
      ],
    ),
  ];
}
