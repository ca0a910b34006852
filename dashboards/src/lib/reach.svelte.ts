// Whether the server can be reached. When it cannot, this knocks again after 1, 2, 4 ... 15 seconds until it answers, then tells
// everyone who waits. Pages keep what they show meanwhile.

const firstWaitMs = 1_000;
const longestWaitMs = 15_000;

class Reach {
  away = $state(false);
  nextTryAt = $state(0); // epoch ms
  trying = $state(false);
  #waitMs = firstWaitMs;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #waiting = new Set<() => void>();

  /** Calls back each time the server is there again. The result undoes it. */
  onBack(callback: () => void): () => void {
    this.#waiting.add(callback);
    return () => this.#waiting.delete(callback);
  }

  lost() {
    if (this.away) return;
    this.away = true;
    this.#waitMs = firstWaitMs;
    this.#plan();
  }

  found() {
    if (!this.away) return;
    this.away = false;
    clearTimeout(this.#timer);
    for (const callback of this.#waiting) callback();
  }

  async knock() {
    if (this.trying) return;
    clearTimeout(this.#timer);
    this.trying = true;
    try {
      const answer = await fetch('/readyz', { cache: 'no-store', signal: AbortSignal.timeout(8_000) });
      this.trying = false;
      if (answer.ok) return this.found();
    } catch {
      this.trying = false;
    }
    this.#waitMs = Math.min(this.#waitMs * 2, longestWaitMs);
    if (this.away) this.#plan();
  }

  #plan() {
    this.nextTryAt = Date.now() + this.#waitMs;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.knock(), this.#waitMs);
  }
}

export const reach = new Reach();
