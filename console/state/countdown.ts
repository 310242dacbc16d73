// Calls something after a time that can be paused.

export class Countdown {
  #left: number;
  #since = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #ended: () => void;

  constructor(milliseconds: number, ended: () => void, isPaused = false) {
    this.#left = milliseconds;
    this.#ended = ended;
    this.pause(isPaused);
  }

  pause(isPaused: boolean): void {
    if (this.#timer !== undefined) this.#left -= Date.now() - this.#since;
    this.stop();
    if (isPaused) return;
    this.#since = Date.now();
    this.#timer = setTimeout(this.#ended, this.#left);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
