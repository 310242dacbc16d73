// Tells all nodes after a commit that there is something new. Commits that come together are told once.

/** The least time between two notifications, so that they cost little with many commits. */
const pauseMs = 20;

export class CommitAnnouncer {
  readonly #send: () => Promise<unknown>;
  #timer: NodeJS.Timeout | undefined;
  #isDue = false;

  constructor(send: () => Promise<unknown>) {
    this.#send = send;
  }

  announce(): void {
    this.#isDue = true;
    if (this.#timer === undefined) this.#sendIfDue();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #sendIfDue(): void {
    this.#timer = undefined;
    if (!this.#isDue) return;
    this.#isDue = false;
    // Readers also look by themselves, so a notification can be lost.
    this.#send().catch(() => undefined);
    this.#timer = setTimeout(() => this.#sendIfDue(), pauseMs);
    this.#timer.unref();
  }
}
