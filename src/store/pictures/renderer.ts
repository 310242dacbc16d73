// Starts the process that renders pictures when there is work, ends it when it hangs or idles, and gives it one job at a time.

import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { isExecutable, scriptUrl } from "../../lib/program.ts";
import { diskOutage } from "../disk/errors.ts";
import { type PictureJob, pictureLimits, type RendererMessage } from "./job.ts";

/** The script of the process, as source or built. */
const ownScript = scriptUrl("store/pictures/render-process");

/**
 * Nothing of the server's environment, which may hold secrets. With one arena the C library returns
 * memory to the system, and the image library keeps large pictures in memory instead of in files.
 */
const env = { MALLOC_ARENA_MAX: "1", VIPS_DISC_THRESHOLD: "1g", VIPS_BLOCK_UNTRUSTED: "1" };

const startSeconds = 30;
const idleMs = 30_000;

type RendererReply = RendererMessage | "silent" | "gone";

/** What became of a job: undefined when it is done, else why the picture cannot be rendered. */
export type JobResult = string | undefined;

/** Thrown when the process does not start, because the library is missing or does not fit the machine. */
export class NoRenderer extends Error {}

export class RendererProcess {
  readonly #script: URL;
  readonly #maxSeconds: number;
  #child: ChildProcess | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;

  constructor(script: URL = ownScript, maxSeconds: number = pictureLimits.maxSeconds) {
    this.#script = script;
    this.#maxSeconds = maxSeconds;
  }

  /** Must not be called before the last job has ended. Rejects with an Outage when the disk is full. */
  async run(job: PictureJob): Promise<JobResult> {
    clearTimeout(this.#idle);
    // A process can have ended for another reason than this picture, so it gets a second one.
    const first = await this.#try(job);
    const message = first === "gone" ? await this.#try(job) : first;
    if (message === "silent") return `it takes longer than ${this.#maxSeconds} s`;
    if (message === "gone") return "it takes too much memory, or it breaks the decoder";
    if (message.kind === "unwritten") throw diskOutage(message.code, "a rendered picture");
    return message.kind === "failed" ? message.reason : undefined;
  }

  async #try(job: PictureJob): Promise<RendererReply> {
    const child = this.#child ?? (await this.#start());
    this.#child = child;
    const reply = nextMessage(child, this.#maxSeconds);
    child.send(job, () => undefined);
    const message = await reply;
    // What is left of a large picture would count against the next one.
    if (typeof message === "string" || usesMuch(message)) this.close();
    else this.#endWhenIdle();
    return message;
  }

  close(): void {
    clearTimeout(this.#idle);
    this.#child?.kill("SIGKILL");
    this.#child = undefined;
  }

  async #start(): Promise<ChildProcess> {
    if (isExecutable) throw new NoRenderer("a single executable has no library for pictures");
    const stdio = ["ignore" as const, "ignore" as const, "ignore" as const, "ipc" as const];
    const child = fork(fileURLToPath(this.#script), { env, execArgv: [], stdio });
    if (typeof (await nextMessage(child, startSeconds)) === "object") return child;
    child.kill("SIGKILL");
    throw new NoRenderer("the process that renders pictures does not start");
  }

  #endWhenIdle(): void {
    this.#idle = setTimeout(() => this.close(), idleMs);
  }
}

/** Resolves with the next message of the process, or with what happens instead. */
function nextMessage(child: ChildProcess, seconds: number): Promise<RendererReply> {
  return new Promise((resolve) => {
    const settle = (reply: RendererReply) => {
      clearTimeout(timer);
      child.off("message", settle).off("exit", leave).off("error", leave);
      resolve(reply);
    };
    const leave = () => settle("gone");
    const timer = setTimeout(() => settle("silent"), seconds * 1000);
    child.on("message", settle).on("exit", leave).on("error", leave);
    if (child.exitCode !== null || child.signalCode !== null) leave();
  });
}

const usesMuch = (message: RendererMessage): boolean =>
  message.kind !== "ready" && message.memoryBytes > pictureLimits.maxMemoryBytes / 2;
