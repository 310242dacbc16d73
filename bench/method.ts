// How it was measured, and on what: the end of the report.

import { defaultConnections } from "./load.ts";
import type { Fsync, Machine } from "./machine.ts";
import type { Results } from "./results.ts";
import { milliseconds, whole } from "./words.ts";

export function machineList({ machine }: Results): string {
  const lines = [
    ["processor", `${machine.processor}, ${machine.cores} cores`],
    ["memory", `${whole(machine.memoryGb)} GB`],
    ["kernel", machine.kernel],
    ["4 KiB write and fdatasync", fsyncWords(machine.fsync)],
    ["load average before", loadWords(machine)],
    ["date", machine.date],
    ...Object.entries(machine.versions),
  ];
  return lines.map(([name, value]) => `- ${name}: ${value}`).join("\n");
}

export const loadWords = ({ loadAverage }: Machine): string =>
  `${loadAverage.toFixed(2)}${loadAverage > 0.5 ? ", **so the machine had other work to do**" : ""}`;

export const fsyncWords = ({ medianMs, p99Ms }: Fsync): string =>
  `median ${milliseconds(medianMs)} ms, p99 ${milliseconds(p99Ms)} ms`;

const slowLoader =
  "- **autocannon is slower than the fast servers here**, so their figures are its own and the ratios come out too small or too even. Install wrk for figures that count.";

export const method = ({ pace, machine }: Results): string =>
  [
    ...(machine.versions.loader?.startsWith("autocannon") ? [slowLoader] : []),
    `- ${defaultConnections} keep-alive connections from one loader thread on the same machine. Each figure is the median of ${pace.rounds} rounds of ${pace.seconds} s; in a round every server is loaded in turn, the bare one first and last. Ratios to it are taken within the round.`,
    "- The bare server is `Bun.serve` with a handler that returns a constant: it reads neither URL, header nor body. It gets Restante's requests and sends bodies of the same size.",
    "- Restante is one process with default settings: every request carries a bearer token that is checked, every request is logged (to /dev/null), a 201 is sent after the disk has confirmed the write. The line with 2 processes is `--workers 2`, and a first process that writes for both.",
    "- The peers check no token and write no log. json-server keeps all in memory and rewrites its file without waiting for the disk. @platformatic/db has its SQLite as it comes: a rollback journal with full durability. On Postgres it has the same server and the same durability as Restante, and a table of the same two columns. Its answers carry no ETag and no times.",
    "- All servers hold the same 10,000 resources; POSTs go to a second collection, which is empty at first. After each load of POSTs the number kept is compared with the number acknowledged.",
    "- One error status, broken connection or timeout, or a wrong answer before or after the load, makes a figure invalid, and the table says so.",
  ].join("\n");
