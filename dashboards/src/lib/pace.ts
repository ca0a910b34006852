/** Calls `run` at most once per `everyMs`: at once when it is time, else as soon as it is. The last call is never lost. */
export class Pace {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastAt = -Infinity;

  constructor(readonly run: () => void) {}

  ask(everyMs: number) {
    if (this.#timer !== undefined) return;
    const wait = this.#lastAt + everyMs - performance.now();
    if (wait <= 0) return this.#go();
    this.#timer = setTimeout(() => this.#go(), wait);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #go() {
    this.#timer = undefined;
    this.#lastAt = performance.now();
    this.run();
  }
}
