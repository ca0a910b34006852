// One question to the server that is asked again and again: the newest question wins, and the last answer stays until the next is there.
import { Failure } from './api';
import { session } from './session.svelte';

export class Asked<T> {
  answer = $state.raw<T | null>(null);
  about = $state(''); // which question the answer belongs to
  wanted = $state(''); // which question was asked last
  failure = $state('');
  #abort: AbortController | undefined;
  #again: ((signal: AbortSignal) => Promise<T>) | undefined;

  /** Whether what is shown answers an earlier, different question. */
  get stale(): boolean {
    return this.answer !== null && this.about !== this.wanted;
  }

  async ask(question: string, get: (signal: AbortSignal) => Promise<T>): Promise<void> {
    // The same question once more waits for the first answer and is then asked again: what made it come up may not be in that answer, and
    // a slow server is not asked twice at a time.
    if (this.#abort && this.wanted === question) {
      this.#again = get;
      return;
    }
    this.#abort?.abort();
    this.#again = undefined;
    const abort = new AbortController();
    this.#abort = abort;
    this.wanted = question;
    try {
      const answer = await get(abort.signal);
      if (abort.signal.aborted) return;
      this.answer = answer;
      this.about = question;
      this.failure = '';
    } catch (error) {
      if (abort.signal.aborted || session.handled(error)) return;
      // While the server is away the banner says so, and old figures stay.
      this.failure = error instanceof Failure && error.kind === 'away' && this.answer ? '' : error instanceof Error ? error.message : String(error);
    } finally {
      if (this.#abort === abort) {
        this.#abort = undefined;
        const again = this.#again;
        this.#again = undefined;
        if (again) void this.ask(question, again);
      }
    }
  }

  stop() {
    this.#abort?.abort();
    this.#abort = undefined;
    this.#again = undefined;
  }
}
