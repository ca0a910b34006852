// Clients of other products as npm has them, unmodified, told only another address.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { humanAgent } from '../../dev/browser.mjs';
import { pick } from './world.mjs';

const require = createRequire(import.meta.url);

export const clientSteps = {
  '@plausible-analytics/tracker': async ({ customer, weir, site, open, arrived, counted }) => {
    const init = { domain: site, endpoint: `${weir.url}/api/event`, captureOnLocalhost: true, outboundLinks: true, fileDownloads: true };
    customer.head = `<script type="module">import { init, track } from '/npm/@plausible-analytics/tracker/plausible.js'; init(${JSON.stringify(init)}); window.track = track;</script>`;
    customer.body = '<a id=out href="https://elsewhere.example/">out</a><div style="height:4000px"></div>';
    const page = await open('/npm', {}, () => addEventListener('click', (event) => event.preventDefault()));
    await page.waitForFunction(() => window.track);
    await page.click('#out');
    const answer = await page.evaluate(() => new Promise((callback) => window.track('Order', { props: { plan: 'pro' }, revenue: { currency: 'EUR', amount: 12.5 }, callback })));
    assert.deepEqual(answer, { status: 202 });
    await page.evaluate(() => history.pushState({}, '', '/npm/2')); // tells the engagement of the first page
    const hits = await arrived(5);
    assert.deepEqual(hits.map((hit) => hit.name ?? `${hit.kind} ${hit.path}`).sort(), ['Order', 'Outbound Link: Click', 'engagement /npm', 'pageview /npm', 'pageview /npm/2']);
    assert.deepEqual(pick(hits.find((hit) => hit.name === 'Order'), 'props', 'revenue'), { props: { plan: 'pro' }, revenue: { currency: 'EUR', amount: '12.5' } });
    await counted({ visitors: 1, pageviews: 2, events: 2, hits: 4, bots: 0 });
  },

  'plausible-tracker': async ({ customer, weir, site, open, arrived, counted }) => {
    customer.head = `<script type="module">import Plausible from '/npm/plausible-tracker/build/module/index.js';
      const client = Plausible({ domain: '${site}', apiHost: '${weir.url}', trackLocalhost: true }); client.trackPageview(); window.client = client;</script>`;
    const page = await open('/older');
    await page.waitForFunction(() => window.client);
    await page.evaluate(() => new Promise((callback) => window.client.trackEvent('Signup', { props: { plan: 'free' }, callback })));
    const hits = await arrived(2);
    assert.deepEqual(pick(hits.find((hit) => hit.name), 'name', 'props'), { name: 'Signup', props: { plan: 'free' } });
    await counted({ visitors: 1, pageviews: 1, events: 1 });
  },

  '@umami/node': async ({ weir, site, arrived, counted }) => {
    const { Umami } = require('@umami/node');
    const client = new Umami({ hostUrl: weir.url, websiteId: site });
    const answers = [
      await client.track({ hostname: site, url: '/from-server', title: 'From a server', referrer: 'https://news.example/' }),
      await client.track({ hostname: site, url: '/from-server', name: 'order', data: { total: 12, item: { id: 'a1' } } }),
      await client.track('ping', { n: 1 }),
      await client.identify({ plan: 'pro' }),
    ];
    for (const answer of answers) assert.equal(answer.status, 200, await answer.clone().text());
    const taken = await answers[0].json();
    assert.match(taken.sessionId ?? '', /^[0-9a-f-]{36}$/, JSON.stringify(taken));
    const hits = await arrived(3);
    assert.deepEqual(pick(hits[0], 'kind', 'path', 'title', 'ref_host'), { kind: 'pageview', path: '/from-server', title: 'From a server', ref_host: 'news.example' });
    assert.deepEqual(pick(hits[1], 'kind', 'name', 'props'), { kind: 'event', name: 'order', props: { total: '12', 'item.id': 'a1' } });
    assert.deepEqual(pick(hits[2], 'kind', 'name', 'props'), { kind: 'event', name: 'ping', props: { n: '1' } });
    await counted({ pageviews: 1, events: 2, hits: 3, bots: 0 });
  },

  'matomo-tracker, one by one and in bulk': async ({ weir, id, site, api, arrived, counted }) => {
    const MatomoTracker = require('matomo-tracker');
    const client = new MatomoTracker(id, `${weir.url}/matomo.php`);
    const failed = [];
    client.on('error', (error) => failed.push(error));
    client.track({ url: `https://${site}/one`, action_name: 'One', ua: humanAgent, urlref: 'https://news.example/' });
    client.track({ url: `https://${site}/one`, e_c: 'video', e_a: 'play', ua: humanAgent });
    const bulk = await new Promise((resolve) => client.trackBulk([{ url: `https://${site}/two`, ua: humanAgent }, { url: `https://${site}/three`, ua: humanAgent }], resolve));
    assert.deepEqual(JSON.parse(bulk), { status: 'success', tracked: 2, invalid: 0 });
    const hits = await arrived(4);
    assert.deepEqual(failed, []);
    assert.deepEqual(hits.map((hit) => hit.name ?? hit.path).sort(), ['/one', '/three', '/two', 'video: play']);
    await counted({ pageviews: 3, events: 1, hits: 4, bots: 0 });
  },
};
