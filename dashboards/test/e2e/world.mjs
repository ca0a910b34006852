// What each step of trackers.mjs gets: a site, a page that is like a person's, and ways to see what arrived.
import assert from 'node:assert/strict';
import { humanAgent } from '../../dev/browser.mjs';

const patienceMs = 30_000; // a machine may be busy with other things

export async function setUp(weir, browser, customer) {
  let cookie = '';
  const api = async (method, path, body) => {
    const answer = await fetch(`${weir.url}/api/v1${path}`, {
      method,
      headers: { 'X-Weir-Request': '1', Cookie: cookie, ...(body ? { 'Content-Type': 'application/json' } : {}) },
      body: body && JSON.stringify(body),
    });
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${await answer.clone().text()}`);
    cookie ||= answer.headers.get('set-cookie')?.split(';')[0] ?? '';
    return answer.json();
  };
  const token = new URL(weir.setupLink).hash.slice(1);
  await api('POST', '/setup', { token, email: 'ada@example.com', password: 'a long password', site: 'first.example', timezone: 'UTC' });

  const log = weir.followHits();
  let steps = 0;
  const contexts = [];

  async function step() {
    const site = `s${++steps}.example`;
    const { id } = await api('POST', '/sites', { name: site, timezone: 'UTC' });
    Object.assign(customer, { head: '', body: '', headers: {}, status: 200, asked: [], hinder: null });

    const hits = () => log.hits.filter((hit) => hit.site === site);
    /** Waits until there are n hits, and a moment more so that one too many is seen. */
    const arrived = async (n) => {
      const end = Date.now() + patienceMs;
      const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      while (hits().length < n && Date.now() < end) await pause(20);
      await pause(250);
      const all = hits();
      assert.equal(all.length, n, `hits: ${JSON.stringify(all, null, 1)}`);
      return all;
    };
    const counts = async (query = '') => (await api('GET', `/sites/${site}/counts?last=2h${query}`)).rows;
    /** Waits until the counts of the whole site are as wanted, and holds them to it. */
    const counted = async (want) => {
      const end = Date.now() + patienceMs;
      for (;;) {
        const row = (await counts())[0] ?? {};
        const got = Object.fromEntries(Object.keys(want).map((key) => [key, row[key]]));
        if (JSON.stringify(got) === JSON.stringify(want)) return row;
        if (Date.now() > end) assert.deepEqual(got, want);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    /** A tag as a customer pastes it. */
    const tag = (name = 'weir.js', attributes = '', from = weir.url) => `<script defer data-site="${site}" ${attributes} src="${from}/js/${name}"></script>`;
    const person = async (options = {}, init) => {
      const context = await browser.newContext({ userAgent: humanAgent, ...options });
      contexts.push(context);
      if (init) await context.addInitScript(init);
      const page = await context.newPage();
      page.complaints = [];
      page.on('pageerror', (error) => page.complaints.push(String(error)));
      page.on('console', (message) => message.type() === 'error' && page.complaints.push(message.text()));
      return page;
    };
    const open = async (path, options, init) => {
      const page = await person(options, init);
      await page.goto(customer.url + path);
      return page;
    };
    const until = async (what, check) => {
      const end = Date.now() + patienceMs;
      while (!check()) {
        assert.ok(Date.now() < end, `waited for ${what}; hits: ${JSON.stringify(hits(), null, 1)}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    /** Waits until a page has read the answers to all it has sent: what is open still is sent once more by the next page of its tab. */
    const answered = (page) => page.waitForFunction(() => !sessionStorage.weir);
    return { site, id, weir, customer, browser, api, hits, until, answered, arrived, counts, counted, tag, person, open };
  }

  const closePages = async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
  };
  return { step, closePages, stop: () => log.stop() };
}

/** A hit without what depends on time and place: its name and the fields that are asked for. */
export const pick = (hit, ...fields) => Object.fromEntries(fields.map((field) => [field, hit[field]]));
