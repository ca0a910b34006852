// One question to the server that is asked again and again: the newest question wins, and the last answer stays until the next is there.
import { Failure } from './api';
import { session } from './session.svelte';
import type { Together } from './together';

export class Asked<T> {
  answer = $state.raw<T | null>(null);
  about = $state(''); // which question the answer belongs to
  wanted = $state(''); // which question was asked last
  failure = $state('');
  #abort: AbortController | undefined;
  #again: ((signal: AbortSignal) => Promise<T>) | undefined;

  /** Answers of the same `together` are shown in one go, but for the first ones, which are shown as they come. */
  constructor(readonly together?: Together) {}

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
      const answer = await this.#get(question, get, abort.signal);
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

  async #get(question: string, get: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    if (!this.together || this.about !== question) return get(signal);
    this.together.begin();
    try {
      return await get(signal);
    } finally {
      await this.together.end();
    }
  }

  stop() {
    this.#abort?.abort();
    this.#abort = undefined;
    this.#again = undefined;
  }
}
