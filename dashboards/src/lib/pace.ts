/** Calls `run` at most once per `everyMs`: at once when it is time, else as soon as it is. The last call is never lost, and a call with a
 * shorter time overtakes one that waits for a longer one. */
export class Pace {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dueAt = Infinity;
  #lastAt = -Infinity;

  constructor(readonly run: () => void) {}

  ask(everyMs: number) {
    const dueAt = this.#lastAt + everyMs;
    if (dueAt >= this.#dueAt) return;
    clearTimeout(this.#timer);
    const wait = dueAt - performance.now();
    if (wait <= 0) return this.#go();
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => this.#go(), wait);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#dueAt = Infinity;
  }

  #go() {
    this.#dueAt = Infinity;
    this.#lastAt = performance.now();
    this.run();
  }
}
