// Shows how far a command is: a bar on a terminal, otherwise a plain line every few seconds.

/** What the counts of a step are. Bytes are shown as kB, MB or GB. */
export type Unit = "bytes" | "files" | "lines" | "resources" | "rows";

export interface StepOptions {
  /** Without it the end is not known, and neither percent nor remaining time are shown. */
  readonly total?: number | undefined;
  readonly unit: Unit;
}

/** One part of a command's work. It ends with `done`, or when the next step begins. */
export interface ProgressStep {
  add(count: number): void;
  done(): void;
}

/** Where progress is shown. */
export interface ProgressOutput {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export interface ProgressOptions {
  /** With `--json` there are no plain lines. A terminal still has a bar. */
  readonly isJson?: boolean | undefined;
  readonly output?: ProgressOutput;
  readonly now?: () => number;
}

/** A rate over less time says nothing. */
const minRateSeconds = 0.1;
const barMs = 100;
const lineMs = 5_000;
const maxBarWidth = 24;
const minBarWidth = 4;

export class Progress {
  readonly #output: ProgressOutput;
  readonly #isTerminal: boolean;
  readonly #isSilent: boolean;
  readonly #now: () => number;
  #current: RunningStep | undefined;

  constructor({ isJson = false, output = process.stderr, now = performance.now }: ProgressOptions) {
    this.#output = output;
    this.#isTerminal = output.isTTY === true;
    this.#isSilent = isJson && !this.#isTerminal;
    this.#now = () => now.call(performance);
  }

  step(name: string, options: StepOptions): ProgressStep {
    this.#current?.done();
    const step = new RunningStep(name, options, this.#now, {
      show: (isEnd) => this.#show(step, isEnd),
      everyMs: this.#isTerminal ? barMs : lineMs,
      end: () => {
        this.#current = undefined;
      },
    });
    this.#current = step;
    if (this.#isTerminal) this.#show(step, false);
    return step;
  }

  /** Prints a line of text above the bar, also with `--json`. */
  note(text: string): void {
    this.#output.write(`${this.#isTerminal ? "\r\x1b[K" : ""}${text}\n`);
    if (this.#isTerminal && this.#current !== undefined) this.#show(this.#current, false);
  }

  /** Ends what is shown when the command fails, so that its message has a line of its own. */
  close(): void {
    if (this.#current === undefined) return;
    this.#current.stop();
    if (this.#isTerminal) this.#output.write("\n");
  }

  #show(step: RunningStep, isEnd: boolean): void {
    if (this.#isSilent) return;
    // A line that is wrapped cannot be drawn again.
    const width = this.#isTerminal ? (this.#output.columns || 80) - 1 : undefined;
    const line = (isEnd ? step.summary() : step.state(width)).slice(0, width);
    this.#output.write(this.#isTerminal ? `\r${line}\x1b[K${isEnd ? "\n" : ""}` : `${line}\n`);
  }
}

interface Display {
  readonly everyMs: number;
  show(isEnd: boolean): void;
  end(): void;
}

class RunningStep implements ProgressStep {
  readonly #name: string;
  readonly #options: StepOptions;
  readonly #now: () => number;
  readonly #display: Display;
  readonly #startedAt: number;
  readonly #timer: NodeJS.Timeout;
  #count = 0;
  #isRunning = true;

  constructor(name: string, options: StepOptions, now: () => number, display: Display) {
    this.#name = name;
    this.#options = options;
    this.#now = now;
    this.#display = display;
    this.#startedAt = now();
    this.#timer = setInterval(() => display.show(false), display.everyMs).unref();
  }

  add(count: number): void {
    this.#count += count;
  }

  done(): void {
    if (!this.#isRunning) return;
    this.stop();
    this.#display.show(true);
  }

  stop(): void {
    this.#isRunning = false;
    clearInterval(this.#timer);
    this.#display.end();
  }

  /** Returns the state with a bar, if there is room for one within the width of the terminal. */
  state(width: number | undefined): string {
    const { total } = this.#options;
    const head = `${this.#name}:`;
    const rate = `${this.#format(this.#perSecond)}/s`;
    if (total === undefined || total <= 0) return `${head} ${this.#amount}, ${rate}`;
    const part = Math.min(1, this.#count / total);
    const percent = `${Math.floor(part * 100)} %`;
    const counts = `${this.#format(this.#count)} of ${this.#format(total)}${this.#noun}`;
    const text = `${percent}, ${counts}, ${rate}${this.#left(total)}`;
    return `${head}${barOf(part, (width ?? 0) - head.length - text.length - 4)} ${text}`;
  }

  summary(): string {
    const rate = this.#seconds < minRateSeconds ? "" : ` (${this.#format(this.#perSecond)}/s)`;
    return `${this.#name}: ${this.#amount} in ${this.#seconds.toFixed(1)} s${rate}`;
  }

  get #seconds(): number {
    return (this.#now() - this.#startedAt) / 1_000;
  }

  get #perSecond(): number {
    return this.#count / Math.max(minRateSeconds, this.#seconds);
  }

  get #noun(): string {
    const { unit, total = this.#count } = this.#options;
    return unit === "bytes" ? "" : ` ${nounOf(total, unit)}`;
  }

  get #amount(): string {
    return `${this.#format(this.#count)}${this.#noun}`;
  }

  #left(total: number): string {
    if (this.#count <= 0 || this.#count >= total) return "";
    return `, ${formatSeconds((total - this.#count) / this.#perSecond)} left`;
  }

  #format(count: number): string {
    return this.#options.unit === "bytes" ? formatBytes(count) : formatCount(count);
  }
}

/** Draws a bar with room for at most `width` characters. */
function barOf(part: number, width: number): string {
  const size = Math.min(width, maxBarWidth);
  if (size < minBarWidth) return "";
  const filled = Math.round(part * size);
  return ` [${"#".repeat(filled)}${"-".repeat(size - filled)}]`;
}

/** One is without the plural s. */
const nounOf = (count: number, plural: string): string =>
  count === 1 ? plural.slice(0, -1) : plural;

/** 2 and "lines" is "2 lines". */
export const countOf = (count: number, plural: string): string =>
  `${formatCount(count)} ${nounOf(count, plural)}`;

/** 1234567 is "1,234,567", on every machine. */
export const formatCount = (count: number): string => Math.round(count).toLocaleString("en-US");

const byteUnits = ["bytes", "kB", "MB", "GB", "TB"] as const;

export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1_000 && unit < byteUnits.length - 1; unit++) value /= 1_000;
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits)} ${byteUnits[unit]}`;
}

/** 75 is "1:15", 3675 is "1:01:15". */
export function formatSeconds(seconds: number): string {
  const whole = Math.ceil(seconds);
  const two = (count: number) => `${count}`.padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60];
  return hours > 0
    ? `${hours}:${two(minutes)}:${two(whole % 60)}`
    : `${minutes}:${two(whole % 60)}`;
}
