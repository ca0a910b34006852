// What the page hears and asks, with a stream, a server and a clock that do what the test says.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Now } from '../../src/lib/types';

const now: Now = { visitors_5m: 1, hits_1m: 2, visitors_30m: 3, hits_30m: 4, complete_to: null, first_hit: true };

class Stream {
  static all: Stream[] = [];
  static CLOSED = 2;
  readyState = 1;
  listeners: Record<string, (event: unknown) => void> = {};
  constructor(readonly url: string) {
    Stream.all.push(this);
  }
  addEventListener(type: string, run: (event: unknown) => void) {
    this.listeners[type] = run;
  }
  close() {
    this.readyState = 2;
  }
  say(document: Now = now) {
    this.listeners.now?.({ data: JSON.stringify(document) });
  }
  fail(closed: boolean) {
    if (closed) this.readyState = 2;
    this.listeners.error?.({});
  }
}

let answer: () => Response;
let asked: string[];
let hidden: boolean;
const documentListeners: Record<string, () => void> = {};

beforeEach(() => {
  vi.useFakeTimers();
  vi.resetModules();
  Stream.all = [];
  asked = [];
  hidden = false;
  answer = () => Response.json(now);
  vi.stubGlobal('EventSource', Stream);
  vi.stubGlobal('location', { pathname: '/s/example.com', search: '', href: 'http://weir/s/example.com', origin: 'http://weir' });
  vi.stubGlobal('addEventListener', () => {});
  vi.stubGlobal('document', {
    get hidden() {
      return hidden;
    },
    addEventListener: (type: string, run: () => void) => (documentListeners[type] = run),
    removeEventListener: () => {},
  });
  vi.stubGlobal('fetch', async (url: string) => {
    asked.push(url);
    return answer();
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

async function listen() {
  const { Live } = await import('../../src/lib/live.svelte');
  const heard: Now[] = [];
  const failures: unknown[] = [];
  const live = new Live('example.com', (one) => heard.push(one), (error) => failures.push(error));
  return { live, heard, failures };
}

describe('the live stream', () => {
  it('is heard, and nothing is asked beside it', async () => {
    const { live, heard } = await listen();
    Stream.all[0]!.say();
    expect(Stream.all[0]!.url).toBe('/api/v1/sites/example.com/live');
    expect(heard).toEqual([now]);
    expect(live.streaming).toBe(true);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(asked).toEqual([]);
    live.close();
    expect(Stream.all[0]!.readyState).toBe(2);
  });

  it('that is held back by a proxy is replaced by asking, until it speaks', async () => {
    const { live, heard } = await listen();
    await vi.advanceTimersByTimeAsync(26_000);
    expect(asked.length).toBeGreaterThanOrEqual(1);
    await vi.advanceTimersByTimeAsync(10_000);
    const before = asked.length;
    expect(before).toBeGreaterThanOrEqual(3);
    expect(heard.length).toBe(before);
    Stream.all[0]!.say();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(asked.length).toBe(before);
    live.close();
  });

  it('that is refused is opened again while asking goes on', async () => {
    const { live } = await listen();
    Stream.all[0]!.fail(true);
    await vi.advanceTimersByTimeAsync(6_000);
    expect(asked.length).toBeGreaterThanOrEqual(1);
    expect(Stream.all.length).toBe(2);
    live.close();
  });

  it('that ends with the login says so', async () => {
    answer = () => Response.json({ error: { code: 'unauthenticated', message: 'log in' } }, { status: 401 });
    const { live, failures } = await listen();
    Stream.all[0]!.fail(true);
    await vi.advanceTimersByTimeAsync(100);
    expect(failures[0]).toMatchObject({ kind: 'expired', message: 'Log in' });
    live.close();
  });

  it('rests while nobody looks and starts again', async () => {
    const { live } = await listen();
    hidden = true;
    documentListeners.visibilitychange!();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(Stream.all[0]!.readyState).toBe(2);
    expect(Stream.all).toHaveLength(1);
    hidden = false;
    documentListeners.visibilitychange!();
    expect(Stream.all).toHaveLength(2);
    live.close();
  });
});

describe('a server that is away', () => {
  it('is knocked at less and less often, and everyone hears when it is back', async () => {
    const { reach } = await import('../../src/lib/reach.svelte');
    let back = 0;
    reach.onBack(() => back++);
    answer = () => new Response('', { status: 503 });
    reach.lost();
    expect(reach.away).toBe(true);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked.every((url) => url === '/readyz')).toBe(true);
    expect(asked.length).toBeGreaterThanOrEqual(5);
    expect(asked.length).toBeLessThanOrEqual(9);
    answer = () => new Response('ok');
    await vi.advanceTimersByTimeAsync(15_000);
    expect(reach.away).toBe(false);
    expect(back).toBe(1);
    const knocks = asked.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked.length).toBe(knocks);
  });
});

describe('questions', () => {
  it('are answered by the newest, and a repeated one is asked once more', async () => {
    const { Asked } = await import('../../src/lib/asked.svelte');
    const one = new Asked<number>();
    const open: ((n: number) => void)[] = [];
    const get = () => new Promise<number>((resolve) => open.push(resolve));
    void one.ask('a', get);
    void one.ask('a', get);
    void one.ask('a', get);
    expect(open).toHaveLength(1);
    open[0]!(1);
    await vi.advanceTimersByTimeAsync(0);
    expect(one.answer).toBe(1);
    expect(open).toHaveLength(2);
    void one.ask('b', get);
    open[1]!(2);
    await vi.advanceTimersByTimeAsync(0);
    expect(one.answer).toBe(1);
    expect(one.stale).toBe(true);
    open[2]!(3);
    await vi.advanceTimersByTimeAsync(0);
    expect(one.answer).toBe(3);
    expect(one.stale).toBe(false);
  });

  it('that fail keep the last answer', async () => {
    const { Asked } = await import('../../src/lib/asked.svelte');
    const { Failure } = await import('../../src/lib/api');
    const one = new Asked<number>();
    await one.ask('a', async () => 1);
    await one.ask('a', async () => {
      throw new Failure('away', 'gone');
    });
    expect([one.answer, one.failure]).toEqual([1, '']);
    await one.ask('a', async () => {
      throw new Failure('refused', 'no such report');
    });
    expect([one.answer, one.failure]).toEqual([1, 'no such report']);
  });
});
