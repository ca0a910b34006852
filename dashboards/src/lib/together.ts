/** Holds the answers of several questions back until all that are being asked are there, so that a page never shows figures of different
 * moments beside each other. What comes more than `patienceMs` after the first answer is not waited for. */
export class Together {
  #open = 0;
  #waiting: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #since = 0;
  /** How long the last round took, in ms: what a page that asks often should leave between rounds. */
  tookMs = 0;

  constructor(readonly patienceMs = 700) {}

  begin() {
    if (this.#open++ === 0 && this.#waiting.length === 0) this.#since = performance.now();
  }

  /** To be called once for each begin. The promise resolves when every question begun so far has ended. */
  end(): Promise<void> {
    this.#open--;
    if (this.#open === 0) {
      this.#release();
      return Promise.resolve();
    }
    this.#timer ??= setTimeout(() => this.#release(), this.patienceMs);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #release() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.tookMs = performance.now() - this.#since;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const go of waiting) go();
  }
}
