// How it was measured, and on what: the end of the report.

import { defaultConnections } from "../load/load.ts";
import { fullSizes } from "../parts/setting.ts";
import type { Fsync, Machine } from "../servers/machine.ts";
import { milliseconds, whole } from "./numbers.ts";
import type { PartRun, Results } from "./results.ts";

/** Usually one; several when parts were measured on several. */
export function machineList(results: Results): string {
  const lists = Object.values(results).map(({ machine }) => machineLines(machine).join("\n"));
  const fsyncs = Object.values(results).map(({ machine }) => machine.fsync);
  const distinct = [...new Set(lists)].join("\n\n");
  const slowest = fsyncs.toSorted((a, b) => a.medianMs - b.medianMs)[Math.floor(fsyncs.length / 2)];
  return slowest === undefined
    ? distinct
    : `${distinct}\n- 4 KiB write and fdatasync: ${fsyncWords(slowest)}`;
}

const machineLines = (machine: Machine): readonly string[] =>
  [
    ["processor", `${machine.processor}, ${machine.cores} cores`],
    ["memory", `${whole(machine.memoryGb)} GB`],
    ["kernel", machine.kernel],
    ...Object.entries(machine.versions),
  ].map(([name, value]) => `- ${name}: ${value}`);

export const loadWords = ({ loadAverage }: Machine): string => loadAverage.toFixed(2);

/** Earlier runs do not have it. */
export const stolenWords = ({ stolen = Number.NaN }: PartRun): string =>
  Number.isNaN(stolen) ? "–" : `${whole(stolen * 100)} %`;

export const fsyncWords = ({ medianMs, p99Ms }: Fsync): string =>
  `median ${milliseconds(medianMs)} ms, p99 ${milliseconds(p99Ms)} ms`;

const { rounds, seconds, warmUpSeconds } = fullSizes.pace;

export const method = [
  `- ${defaultConnections} keep-alive connections from one loader on the same machine: \`bench/load/loader.ts\`, one thread on raw sockets, which looks at every status and reads every body. Each figure is the median of ${rounds} rounds of ${seconds} s, after a warm-up of ${warmUpSeconds} s; in a round every server is loaded in turn, the bare one first and last. Ratios to it are taken within the round. \`CPU µs\` is the processor time of all threads of the server for one request; the loader itself takes about 10 µs for one, so that it may limit the rate of a server that takes less, as the bare one does.`,
  "- The bare server is `Bun.serve` with a handler that returns a constant: it reads neither URL, header nor body. It gets Restante's requests and sends bodies of the same size, in the same set-up.",
  "- Restante is one process with default settings: every request carries a bearer token that is checked, every request is logged (to /dev/null), a 201 is sent after the disk has confirmed the write. The line with 2 processes is `--workers 2`, and a first process that writes for both.",
  "- The peers check no token and write no log to the terminal. json-server keeps all in memory and rewrites its file without waiting for the disk. @platformatic/db has its SQLite as it comes: a rollback journal with full durability. On Postgres it has the same server and the same durability as Restante, and a table of the same two columns. Its responses carry no ETag and no times. PocketBase is built with Go from the `examples/base` of its module, with its default settings and rules that let everyone read and create; where Go is not installed it is missing, and the table says so.",
  "- POSTs go to a second collection, which is empty at first. After each load of POSTs the number stored is compared with the number acknowledged.",
  "- For fairness the GETs are sent at fixed times, over 32 connections; the time that a request waits for a free connection counts. The client with the heavy work has the lowest priority and the loader a high one, as if they were on machines of their own. Every process is in a session of its own: Linux may divide the processors between sessions, and each connection of Postgres is one, so that a server would otherwise share its part with the loader. The line of a program that uses one core shows what the machine alone does: on two cores, a connection of Postgres that computes is such a program.",
  "- The host of a virtual machine may run others: `taken by the host` is the share of the processors' time that this machine wanted and did not get (`steal` of Linux).",
  "- One wrong status or broken connection, or a wrong response before or after the load, makes a figure invalid, and the table says so.",
].join("\n");
