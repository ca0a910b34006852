// How hits get there: strict policies, a path of the site's own, lost connections, several tabs, pages made ahead and pages that come back.
import assert from 'node:assert/strict';
import { pick } from './world.mjs';

const paths = (hits) => hits.map((hit) => hit.path).sort();

export const sendingSteps = {
  'a strict content policy is kept': async ({ customer, weir, tag, open, arrived }) => {
    customer.headers = { 'Content-Security-Policy': `default-src 'none'; script-src ${weir.url}; connect-src ${weir.url}` };
    customer.head = tag('weir.outbound-links.engagement.404.js');
    const page = await open('/strict');
    await arrived(1);
    assert.deepEqual(page.complaints.filter((text) => !/favicon/.test(text)), []);
  },

  'a policy by nonce lets options by attribute in too': async ({ customer, weir, tag, open, arrived }) => {
    customer.headers = { 'Content-Security-Policy': `default-src 'none'; script-src 'nonce-abc'; connect-src ${weir.url}` };
    customer.head = tag('weir.js', 'nonce="abc" data-404');
    const page = await open('/missing/nonce');
    const hits = await arrived(2);
    assert.deepEqual(hits.map((hit) => hit.name ?? '').sort(), ['', '404']);
    assert.deepEqual(page.complaints.filter((text) => !/favicon|404/.test(text)), []);
  },

  'the core goes on alone when the file with the options cannot be had': async ({ customer, tag, open, arrived, answered }) => {
    customer.head = tag('weir.js', 'data-404');
    const page = await open('/first');
    await arrived(1);
    await answered(page);
    await page.context().route('**/weir.all.js', (route) => route.abort());
    await page.goto(`${customer.url}/missing/second`);
    assert.deepEqual(paths(await arrived(2)), ['/first', '/missing/second']);
  },

  'through a path of the site itself, with the visitor\'s address': async ({ customer, site, tag, open, arrived }) => {
    customer.headers = { 'Content-Security-Policy': "default-src 'self'" };
    customer.head = tag('weir.outbound-links.js', '', '/w');
    await open('/proxied');
    await arrived(1);
    customer.head = `<script defer data-site="${site}" data-api="/w/api/event" src="/w/js/script.js"></script>`;
    await open('/proxied/too');
    await arrived(2);
    const asked = customer.asked.filter(({ path }) => path.startsWith('/w/'));
    assert.deepEqual([...new Set(asked.map(({ path }) => path))].sort(), ['/w/api/event', '/w/js/script.js', '/w/js/weir.outbound-links.js']);
  },

  'the cookies of the site stay with it': async ({ customer, tag, open, arrived }) => {
    customer.headers = { 'Set-Cookie': 'session=secret' };
    customer.head = tag('weir.js', '', '/w');
    await open('/cookie');
    await arrived(1);
    const sent = customer.asked.find(({ path, method }) => method === 'POST' && path === '/w/api/event');
    assert.equal(sent.headers.cookie, undefined);
  },

  'what a busy server refuses goes out with the next page, once': async ({ customer, tag, open, arrived, answered, counted, until }) => {
    for (const [at, hinder] of ['refuse', 'cut'].entries()) {
      customer.head = tag('weir.js', '', '/w');
      let hindered = 0;
      customer.hinder = () => (hindered++, hinder);
      const page = await open(`/${hinder}/1`);
      await until('the hit to be hindered', () => hindered > 0);
      await page.waitForTimeout(300); // and the page to hear of it
      assert.match(await page.evaluate(() => sessionStorage.weir), new RegExp(`${hinder}/1`));
      customer.hinder = null;
      await page.goto(`${customer.url}/${hinder}/2`);
      await arrived(2 * at + 2);
      await page.goto(`${customer.url}/${hinder}/2#same`);
      await answered(page);
    }
    await counted({ pageviews: 4, hits: 4 });
  },

  'a hit that arrived while its answer was lost is sent again and counted once': async ({ customer, tag, open, hits, counted, until }) => {
    customer.head = tag('weir.js', '', '/w');
    customer.hinder = () => 'swallow';
    const page = await open('/lost/answer');
    await until('the first attempt', () => hits().length > 0);
    customer.hinder = null;
    await page.goto(`${customer.url}/lost/next`);
    await counted({ pageviews: 2, hits: 2 });
    await until('the second attempt', () => hits().length > 2);
    const ids = hits().map((hit) => hit.client_id);
    assert.equal(new Set(ids).size, 2, JSON.stringify(ids));
    await page.waitForTimeout(500);
    await counted({ pageviews: 2, hits: 2 });
  },

  'offline, and on again in the same page': async ({ customer, tag, open, arrived, counted }) => {
    customer.head = tag();
    const page = await open('/online');
    await arrived(1);
    await page.context().setOffline(true);
    await page.evaluate(() => history.pushState({}, '', '/offline'));
    await page.waitForFunction(() => sessionStorage.weir.includes('/offline'));
    await page.waitForTimeout(200);
    await page.context().setOffline(false);
    assert.deepEqual(paths(await arrived(2)), ['/offline', '/online']);
    await counted({ visitors: 1, pageviews: 2 });
  },

  'two tabs keep their hits apart and are one visitor': async ({ customer, tag, open, arrived, counted, until }) => {
    customer.head = tag('weir.js', '', '/w');
    let refused = 0;
    customer.hinder = () => (refused++, 'refuse');
    const first = await open('/tab/1');
    const second = await first.context().newPage();
    await second.goto(`${customer.url}/tab/2`);
    await until('both hits to be refused', () => refused === 2);
    assert.doesNotMatch(await second.evaluate(() => sessionStorage.weir), /tab\/1/);
    customer.hinder = null;
    await Promise.all([first.goto(`${customer.url}/tab/3`), second.goto(`${customer.url}/tab/4`)]);
    assert.deepEqual(paths(await arrived(4)), ['/tab/1', '/tab/2', '/tab/3', '/tab/4']);
    await counted({ visitors: 1, pageviews: 4 });
  },

  'a page made ahead counts when it is shown': async ({ customer, tag, open, hits, arrived, answered, until }) => {
    const ahead = '<script type="speculationrules">{"prerender":[{"urls":["/ahead"],"eagerness":"immediate"}]}</script>';
    customer.head = tag();
    customer.body = `${ahead}<a id=go href="/ahead">on</a>`;
    const page = await open('/here');
    await arrived(1);
    await answered(page);
    await until('the page to be made ahead', () => customer.asked.some(({ path }) => path === '/ahead'));
    const made = customer.asked.find(({ path }) => path === '/ahead');
    assert.match(made?.headers['sec-purpose'] ?? '', /prerender/, 'this Chromium made no page ahead');
    await page.waitForTimeout(500);
    assert.deepEqual(paths(hits()), ['/here']);
    await page.click('#go');
    assert.deepEqual(paths(await arrived(2)), ['/ahead', '/here']);
  },

  'back and forward: each page seen is a page view, kept whole or not': async ({ customer, tag, open, arrived, answered, counted }) => {
    customer.head = tag();
    const page = await open('/one');
    await arrived(1);
    await answered(page);
    await page.goto(`${customer.url}/two`);
    await arrived(2);
    await answered(page);
    await page.goBack();
    await arrived(3);
    await answered(page);
    await page.goForward();
    const hits = await arrived(4);
    assert.deepEqual(paths(hits), ['/one', '/one', '/two', '/two']);
    assert.deepEqual(hits.map((hit) => pick(hit, 'bot').bot), [undefined, undefined, undefined, undefined]);
    await counted({ visitors: 1, pageviews: 4 });
  },

  'a browser without scripts is counted by the pixel': async ({ customer, weir, site, open, arrived }) => {
    customer.body = `<noscript><img src="${weir.url}/p.gif?d=${site}" alt="" referrerpolicy="no-referrer-when-downgrade" width="1" height="1"></noscript>`;
    await open('/still', { javaScriptEnabled: false });
    assert.equal((await arrived(1))[0].path, '/still');
  },
};
