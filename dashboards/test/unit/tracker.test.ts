// The tracker as it is served, in a page made of a few objects. The browser test runs it in Chromium.
import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildTracker, limits } from '../../scripts/tracker.mjs';

let built: Record<string, { code: string; gz: number }> = {};
beforeAll(async () => {
  built = await buildTracker(new URL('../../', import.meta.url));
});

it('weighs little, and is what the build has', () => {
  expect(limits).toEqual({ 'weir.js': 1000, 'weir.all.js': 2000 });
  for (const [name, limit] of Object.entries(limits)) {
    expect(built[name]!.gz).toBeLessThanOrEqual(limit);
    expect(readFileSync(new URL(`../../dist/js/${name}`, import.meta.url), 'utf8')).toBe(built[name]!.code);
  }
});

interface Setup {
  data?: Record<string, string>;
  src?: string;
  href?: string;
  referrer?: string;
  webdriver?: boolean;
  local?: Record<string, string>;
  session?: Record<string, string>;
  answer?: () => Promise<{ status: number }>;
  prerendering?: boolean;
  before?: (win: Record<string, any>) => void;
}

function open(setup: Setup = {}) {
  const listeners: Record<string, ((event: any) => void)[]> = {};
  const listen = (type: string, run: (event: any) => void) => (listeners[type] = [...(listeners[type] ?? []), run]);
  const location = { href: setup.href ?? 'https://example.com/a', hostname: 'example.com' };
  const sent: { url: string; body: any; options: any }[] = [];
  const go = (_: unknown, __: string, url?: string) => {
    if (url) location.href = new URL(url, location.href).href;
  };
  const doc = {
    currentScript: { dataset: setup.data ?? { site: 'example.com' }, src: setup.src ?? 'https://weir.example/js/weir.js' },
    referrer: setup.referrer ?? 'https://news.example/',
    prerendering: setup.prerendering ?? false,
    querySelector: () => null,
    addEventListener: listen,
  };
  const win: Record<string, any> = {
    document: doc,
    location,
    screen: { width: 1440 },
    history: { pushState: go, replaceState: go },
    navigator: { webdriver: setup.webdriver ?? false },
    localStorage: setup.local ?? {},
    sessionStorage: setup.session ?? {},
    console: { info: () => {} },
    URL,
    addEventListener: listen,
    fetch: (url: string, options: any) => {
      sent.push({ url: String(url), body: JSON.parse(options.body), options });
      return (setup.answer ?? (async () => ({ status: 202 })))();
    },
  };
  win.window = win;
  setup.before?.(win);
  runInNewContext(built['weir.js']!.code, win);
  return { win, sent, location, fire: (type: string, event: any = {}) => listeners[type]?.forEach((run) => run(event)) };
}

describe('a page view', () => {
  it('goes to the place the script came from, as text/plain that needs no preflight, and carries an id', () => {
    const { sent } = open();
    expect(sent).toHaveLength(1);
    expect(sent[0]!.url).toBe('https://weir.example/api/event');
    expect(sent[0]!.options).toMatchObject({ method: 'POST', keepalive: true, credentials: 'omit' });
    expect(sent[0]!.options.headers).toBeUndefined();
    expect(sent[0]!.body).toMatchObject({ n: 'pageview', u: 'https://example.com/a', d: 'example.com', r: 'https://news.example/', w: 1440 });
    expect(sent[0]!.body.id).toMatch(/^\d{13}0\.\d{6,}$/);
  });
  it('follows a script that is served below a path of the site itself', () => {
    expect(open({ src: 'https://example.com/w/js/weir.js' }).sent[0]!.url).toBe('https://example.com/w/api/event');
    expect(open({ data: { site: 'x', api: 'https://other.example/in' } }).sent[0]!.url).toBe('https://other.example/in');
  });
  it('reads the attribute of a Plausible snippet, and the host without any', () => {
    expect(open({ data: { domain: 'old.example' } }).sent[0]!.body.d).toBe('old.example');
    expect(open({ data: {} }).sent[0]!.body.d).toBe('example.com');
  });
});

describe('moving within a page', () => {
  it('counts each changed address once, with the one before as its referrer', () => {
    const { win, sent, location, fire } = open();
    win.history.pushState({}, '', '/b');
    win.history.replaceState({ scroll: 1 }, '', '/b');
    win.history.pushState({}, '', '#part');
    location.href = 'https://example.com/a';
    fire('popstate');
    expect(sent.map((hit) => hit.body.u)).toEqual(['https://example.com/a', 'https://example.com/b', 'https://example.com/a']);
    expect(sent[1]!.body.r).toBe('https://example.com/a');
    expect(new Set(sent.map((hit) => hit.body.id)).size).toBe(3);
  });
  it('is no page view where only the place within the page changes, or the same address is set again', () => {
    const { win, sent, location, fire } = open();
    for (let click = 0; click < 3; click++) {
      location.href = 'https://example.com/a#sec-2';
      fire('popstate');
    }
    win.history.replaceState({}, '', 'https://example.com/a#sec-2');
    win.history.replaceState({}, '', 'https://example.com/a');
    expect(sent).toHaveLength(1);
    const routed = open({ data: { site: 'example.com', hash: '' } });
    routed.win.history.pushState({}, '', '#/cart');
    routed.win.history.replaceState({}, '', '#/cart');
    expect(routed.sent).toHaveLength(2);
  });
  it('counts fragments only when told to', () => {
    const { win, sent } = open({ data: { site: 'example.com', hash: '' } });
    win.history.pushState({}, '', '#/cart');
    expect(sent).toHaveLength(2);
    expect(sent[1]!.body).toMatchObject({ u: 'https://example.com/a#/cart', h: 1 });
  });
  it('counts a page that comes back whole, and not again for where its visitor first came from', () => {
    const { sent, fire } = open();
    fire('pageshow', { persisted: false });
    fire('pageshow', { persisted: true });
    expect(sent.map((hit) => hit.body.r)).toEqual(['https://news.example/', 'https://example.com/a']);
  });
  it('is left to the page with data-manual', () => {
    const { win, sent } = open({ data: { site: 'example.com', manual: '' } });
    win.history.pushState({}, '', '/b');
    expect(sent).toHaveLength(0);
    win.weir('pageview', { url: 'https://example.com/virtual' });
    expect(sent[0]!.body).toMatchObject({ n: 'pageview', u: 'https://example.com/virtual', r: 'https://news.example/', w: 1440 });
  });
});

describe('custom events', () => {
  it('carry properties and revenue', () => {
    const { win, sent } = open();
    win.weir('Order', { props: { plan: 'pro' }, revenue: { currency: 'EUR', amount: 9.5 }, interactive: false });
    expect(sent[1]!.body).toMatchObject({ n: 'Order', p: { plan: 'pro' }, $: { currency: 'EUR', amount: 9.5 }, i: false });
  });
  it('called before the script is there come after the page view', () => {
    const { sent } = open({ before: (win) => (win.weir = Object.assign(() => {}, { q: [['Early', { props: { a: 1 } }]] })) });
    expect(sent.map((hit) => hit.body.n)).toEqual(['pageview', 'Early']);
    expect(sent[1]!.body.p).toEqual({ a: 1 });
  });
  it('may be called as on a page of Plausible, with what waits there', () => {
    const q = [['Early'], ['pageview', { url: 'https://example.com/virtual' }]];
    const { win, sent } = open({ before: (win) => (win.plausible = Object.assign(() => {}, { q })) });
    win.plausible('Late');
    expect(sent.map((hit) => hit.body.n)).toEqual(['pageview', 'Early', 'pageview', 'Late']);
  });
  it('leave the script of Plausible alone when it is there too', () => {
    const theirs = Object.assign(() => {}, { l: true });
    const { win } = open({ before: (win) => (win.plausible = theirs) });
    expect(win.plausible).toBe(theirs);
  });
  it('tell the page when they are answered, have failed, or are not sent', async () => {
    const answers: unknown[] = [];
    const callback = (answer: unknown) => answers.push(answer);
    open().win.weir('A', { callback });
    open({ answer: () => Promise.reject(new Error('offline')) }).win.weir('B', { callback });
    open({ local: { plausible_ignore: 'true' } }).win.weir('C', { callback });
    await new Promise((resolve) => setTimeout(resolve));
    expect(answers).toEqual(expect.arrayContaining([{ status: 202 }, { error: new Error('offline') }, {}]));
    expect(answers).toHaveLength(3);
  });
});

describe('what is not counted', () => {
  it('is one\'s own visits', () => expect(open({ local: { weir_ignore: 'true' } }).sent).toHaveLength(0));
  it('nor those that Plausible leaves out already', () => expect(open({ local: { plausible_ignore: 'true' } }).sent).toHaveLength(0));
  it('is a browser driven by a script', () => expect(open({ webdriver: true }).sent).toHaveLength(0));
  it('is a page that was prepared and never seen', () => {
    const { win, sent, fire } = open({ prerendering: true });
    win.weir('Early');
    expect(sent).toHaveLength(0);
    fire('prerenderingchange');
    expect(sent.map((hit) => hit.body.n)).toEqual(['pageview', 'Early']);
  });
});

describe('what could not be sent', () => {
  const settle = () => new Promise((resolve) => setTimeout(resolve));
  it('waits in this tab and goes out once more with the same id', async () => {
    const session = {};
    const first = open({ session, answer: () => Promise.reject(new Error('offline')) });
    await settle();
    const second = open({ session });
    await settle();
    expect(second.sent).toHaveLength(2);
    expect(second.sent[0]!.body.id).toBe(first.sent[0]!.body.id);
    expect(open({ session }).sent).toHaveLength(1);
  });
  it('waits from before it is sent, in case the page goes away first', () => {
    const session: Record<string, string> = {};
    const first = open({ session, answer: () => new Promise(() => {}) });
    const second = open({ session });
    expect(second.sent[0]!.body.id).toBe(first.sent[0]!.body.id);
  });
  it('is let go after half a day', () => {
    const old = JSON.stringify({ id: `${Date.now() - 13 * 3600_000}0.5`, n: 'Old' });
    const session: Record<string, string> = { weir: `${old}\n` };
    expect(open({ session }).sent.map((hit) => hit.body.n)).toEqual(['pageview']);
    expect(session.weir).not.toContain('Old');
  });
  it('is kept when the server is busy, not when it refuses', async () => {
    for (const [status, kept] of [[503, 1], [429, 1], [400, 0], [202, 0]] as const) {
      const session: Record<string, string> = {};
      open({ session, answer: async () => ({ status }) });
      await settle();
      expect((session.weir ?? '').split('\n').filter(Boolean)).toHaveLength(kept);
    }
  });
  it('is bounded to the last nine', async () => {
    const session: Record<string, string> = {};
    const { win } = open({ session, answer: async () => ({ status: 503 }) });
    for (let i = 0; i < 30; i++) win.weir(`E${i}`);
    await settle();
    const kept = session.weir!.split('\n').filter(Boolean);
    expect(kept).toHaveLength(9);
    expect(JSON.parse(kept[8]!).n).toBe('E29');
  });
  it('goes out when the network is back', async () => {
    let up = false;
    const { sent, fire } = open({ answer: () => (up ? Promise.resolve({ status: 202 }) : Promise.reject(new Error('offline'))) });
    await settle();
    up = true;
    fire('online');
    expect(sent).toHaveLength(2);
    expect(sent[1]!.body.id).toBe(sent[0]!.body.id);
  });
  it('is let go where the browser forbids storage', async () => {
    const forbidden = new Proxy({}, { get: () => { throw new Error('SecurityError'); }, set: () => { throw new Error('SecurityError'); } });
    const { sent } = open({ local: forbidden, session: forbidden, answer: () => Promise.reject(new Error('offline')) });
    await settle();
    expect(sent).toHaveLength(1);
  });
});
