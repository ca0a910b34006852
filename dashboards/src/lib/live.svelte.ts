// What happens on a site right now, as the server tells it: one event stream, or asking every few seconds where streams do not get
// through. A page in the background listens no more and starts again when it is seen.
import { api, Failure } from './api';
import { reach } from './reach.svelte';
import type { Now } from './types';

const silentForMs = 25_000; // the server speaks at least every 15 s
const askEveryMs = 5_000;
const hiddenForMs = 20_000;

export class Live {
  now = $state<Now | null>(null);
  streaming = $state(false);

  #source: EventSource | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #asking: ReturnType<typeof setInterval> | undefined;
  #hiding: ReturnType<typeof setTimeout> | undefined;
  #closed = false;
  #offBack: () => void;

  constructor(
    readonly site: string,
    readonly heard: (now: Now) => void,
    readonly failed: (error: unknown) => void,
  ) {
    document.addEventListener('visibilitychange', this.#seen);
    this.#offBack = reach.onBack(() => this.#listen());
    this.#listen();
  }

  close() {
    this.#closed = true;
    document.removeEventListener('visibilitychange', this.#seen);
    this.#offBack();
    clearTimeout(this.#hiding);
    this.#rest();
  }

  #seen = () => {
    clearTimeout(this.#hiding);
    if (document.hidden) this.#hiding = setTimeout(() => this.#rest(), hiddenForMs);
    else if (!this.#source) this.#listen();
  };

  #rest() {
    this.streaming = false;
    this.#source?.close();
    this.#source = undefined;
    clearTimeout(this.#silence);
    clearInterval(this.#asking);
    this.#asking = undefined;
  }

  #listen() {
    if (this.#closed) return;
    this.#rest();
    const source = new EventSource(api.liveURL(this.site));
    this.#source = source;
    this.#watchSilence();
    source.addEventListener('now', (event) => {
      this.streaming = true;
      clearInterval(this.#asking);
      this.#asking = undefined;
      this.#watchSilence();
      reach.found();
      this.#take(JSON.parse((event as MessageEvent<string>).data) as Now);
    });
    source.addEventListener('error', () => {
      this.streaming = false;
      // Either the browser tries again by itself (CONNECTING), or the server refused (CLOSED). Asking finds out which failure it is.
      this.#ask();
      this.#askOften();
    });
  }

  // A proxy that holds the stream back looks like silence.
  #watchSilence() {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      this.streaming = false;
      this.#ask();
      this.#askOften();
      this.#watchSilence();
    }, silentForMs);
  }

  #askOften() {
    this.#asking ??= setInterval(() => {
      this.#ask();
      if (this.#source?.readyState === EventSource.CLOSED) this.#listen();
    }, askEveryMs);
  }

  async #ask() {
    if (reach.away) return; // the banner knocks; onBack starts anew
    try {
      this.#take(await api.now(this.site));
    } catch (error) {
      if (error instanceof Failure && error.kind !== 'away') this.failed(error);
    }
  }

  #take(now: Now) {
    if (this.#closed) return;
    this.now = now;
    this.heard(now);
  }
}
