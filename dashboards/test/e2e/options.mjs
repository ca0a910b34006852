// What each option of the tracker sends, as it lies in the log.
import assert from 'node:assert/strict';
import { pick } from './world.mjs';

// By name: what is sent at the same moment lies in the log in any order.
const byName = (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
const events = (hits) => hits.filter((hit) => hit.kind === 'event').map((hit) => pick(hit, 'name', 'props')).sort(byName);
const paths = (hits) => hits.filter((hit) => hit.kind === 'pageview').map((hit) => hit.path);

// Pages stay where they are when a link is clicked, so that a step can click on.
const stay = () => addEventListener('click', (event) => event.preventDefault());

export const optionSteps = {
  'the core counts pages and moves within them, first by where the visitor came from': async ({ customer, tag, open, arrived, answered, counted }) => {
    customer.head = tag();
    const page = await open('/a?utm_source=letter&utm_campaign=spring', { extraHTTPHeaders: { Referer: 'https://news.example/story' } });
    await page.evaluate(() => history.pushState({}, '', '/b'));
    await page.evaluate(() => history.replaceState({}, '', '/b'));
    await page.evaluate(() => (location.hash = '#part'));
    const hits = await arrived(2);
    assert.deepEqual(paths(hits).sort(), ['/a', '/b']);
    const [first, second] = [hits.find((hit) => hit.path === '/a'), hits.find((hit) => hit.path === '/b')];
    assert.deepEqual(pick(first, 'ref_host', 'campaign'), { ref_host: 'news.example', campaign: { source: 'letter', name: 'spring' } });
    assert.notEqual(second.ref_host, 'news.example');
    await answered(page);
    assert.deepEqual(await page.evaluate(() => [document.cookie, localStorage.length, sessionStorage.weir]), ['', 0, '']);
    await counted({ visitors: 1, pageviews: 2, hits: 2, bots: 0 });
  },

  'hash: by name and by attribute': async ({ customer, tag, open, arrived }) => {
    for (const [at, head] of [tag('weir.hash.js'), tag('weir.js', 'data-hash')].entries()) {
      customer.head = head;
      const page = await open(`/app${at}#/home`);
      await page.evaluate(() => (location.hash = '#/cart'));
      await arrived(2 * at + 2);
    }
    assert.deepEqual(paths(await arrived(4)).sort(), ['/app0#/cart', '/app0#/home', '/app1#/cart', '/app1#/home']);
  },

  'outbound links, also by the middle button, and none to the site itself': async ({ customer, tag, open, arrived }) => {
    customer.head = tag('weir.outbound-links.js');
    customer.body = '<a id=out href="https://elsewhere.example/x?y=1">out</a> <a id=in href="/in">in</a> <a id=mail href="mailto:a@b.example">mail</a><script></script>';
    const page = await open('/links', {}, stay);
    await page.click('#in');
    await page.click('#mail');
    await page.click('#out');
    await page.dispatchEvent('#out', 'auxclick', { button: 1, bubbles: true });
    await page.dispatchEvent('#out', 'auxclick', { button: 2, bubbles: true });
    const one = { name: 'Outbound Link: Click', props: { url: 'https://elsewhere.example/x?y=1' } };
    assert.deepEqual(events(await arrived(3)), [one, one]);
  },

  'file downloads, with extensions of one\'s own': async ({ customer, tag, open, arrived }) => {
    customer.body = '<a id=pdf href="/a.pdf?v=2">a</a> <a id=xyz href="/b.XYZ">b</a> <a id=page href="/pdf">c</a>';
    for (const [head, id, url] of [
      [tag('weir.file-downloads.js'), '#pdf', '/a.pdf'],
      [tag('weir.js', 'data-file-downloads="zip, xyz"'), '#xyz', '/b.XYZ'],
      [tag('script.file-downloads.js', 'file-types="xyz"'), '#xyz', '/b.XYZ'],
    ]) {
      customer.head = head;
      const page = await open('/files', {}, stay);
      await page.waitForFunction(() => window.plausible && !window.plausible.q);
      for (const click of ['#page', '#pdf', '#xyz']) await page.click(click);
      await page.waitForTimeout(200);
    }
    const got = events(await arrived(6));
    assert.deepEqual(got.map(({ name, props }) => [name, new URL(props.url).pathname]).sort(), [['File Download', '/a.pdf'], ['File Download', '/b.XYZ'], ['File Download', '/b.XYZ']]);
  },

  'tagged elements and forms': async ({ customer, tag, open, arrived }) => {
    customer.head = tag('weir.tagged-events.outbound-links.js');
    customer.body = `<button id=b class="x plausible-event-name=Sign+up plausible-event-plan--pro+max weir-revenue-currency=EUR weir-revenue-amount=9.50"><i>go</i></button>
      <a id=a class="weir-event-name--Leave" href="https://elsewhere.example/">leave</a>
      <form class="weir-event-name=Sent"><input name=q><button id=s>send</button></form>`;
    const page = await open('/tags', {}, () => (addEventListener('click', (event) => event.target.id === 'a' && event.preventDefault()), addEventListener('submit', (event) => event.preventDefault())));
    await page.click('#b i');
    await page.click('#a');
    await page.click('form input');
    await page.click('#s');
    const hits = await arrived(4);
    assert.deepEqual(events(hits), [
      { name: 'Leave', props: { url: 'https://elsewhere.example/' } },
      { name: 'Sent', props: undefined },
      { name: 'Sign up', props: { plan: 'pro max' } },
    ]);
    assert.deepEqual(hits.find((hit) => hit.name === 'Sign up').revenue, { currency: 'EUR', amount: '9.50' });
  },

  'custom events: properties, revenue, callback, and what waited in both queues': async ({ customer, tag, open, arrived, counted }) => {
    customer.head = `<script>window.weir = window.weir || function () { (weir.q = weir.q || []).push(arguments) };
      window.plausible = window.plausible || function () { (plausible.q = plausible.q || []).push(arguments) };
      weir('Early', { props: { at: 1 } }); plausible('Early too');</script>${tag()}`;
    const page = await open('/events');
    const status = await page.evaluate(() => new Promise((resolve) => weir('Order', { props: { plan: 'pro' }, revenue: { currency: 'USD', amount: 19.9 }, interactive: false, callback: (answer) => resolve(answer.status) })));
    assert.equal(status, 202);
    await page.evaluate(() => plausible('Old name', { props: { a: true } }));
    const hits = await arrived(5);
    assert.deepEqual(events(hits), [
      { name: 'Early', props: { at: '1' } },
      { name: 'Early too', props: undefined },
      { name: 'Old name', props: { a: 'true' } },
      { name: 'Order', props: { plan: 'pro' } },
    ]);
    assert.deepEqual(pick(hits.find((hit) => hit.name === 'Order'), 'revenue', 'non_interactive'), { revenue: { currency: 'USD', amount: '19.9' }, non_interactive: true });
    await counted({ visitors: 1, pageviews: 1, events: 4 });
  },

  '404: the browser knows that the page is missing': async ({ customer, tag, open, arrived }) => {
    customer.head = tag('weir.404.js');
    await open('/missing/page');
    await arrived(2);
    await open('/there');
    assert.deepEqual(events(await arrived(3)), [{ name: '404', props: { path: '/missing/page' } }]);
  },

  'manual: only what the page calls for': async ({ customer, tag, open, arrived }) => {
    customer.head = tag('weir.manual.js');
    const page = await open('/own');
    await page.evaluate(() => (history.pushState({}, '', '/own/2'), plausible('pageview', { u: location.origin + '/virtual', props: { tab: 'x' } })));
    const hits = await arrived(1);
    assert.deepEqual([hits[0].path, hits[0].props], ['/virtual', { tab: 'x' }]);
  },

  'exclusions and inclusions, with wildcards': async ({ customer, tag, open, arrived }) => {
    customer.head = tag('weir.exclusions.js', 'data-exclude="/admin/**, /draft-*, /a.b"');
    for (const path of ['/admin/x/y', '/draft-1', '/a.b/', '/draft-1/public', '/axb', '/']) await open(path);
    await arrived(3);
    customer.head = tag('weir.js', 'data-include="/blog/**"');
    for (const path of ['/shop', '/blog/one']) await (await open(path)).waitForTimeout(200);
    assert.deepEqual(paths(await arrived(4)).sort(), ['/', '/axb', '/blog/one', '/draft-1/public']);
  },

  'properties of the tag go with page views': async ({ customer, tag, open, arrived }) => {
    customer.head = tag('script.pageview-props.js', 'event-author="Ada" event-theme="dark"');
    await open('/props');
    assert.deepEqual((await arrived(1))[0].props, { author: 'Ada', theme: 'dark' });
  },

  'do-not-track is heeded where the tag asks for it': async ({ customer, tag, open, arrived }) => {
    const dnt = () => Object.defineProperty(navigator, 'globalPrivacyControl', { value: true });
    customer.head = tag('weir.js', 'data-dnt');
    await (await open('/asks', {}, dnt)).waitForTimeout(300);
    customer.head = tag();
    await open('/asks-not', {}, dnt);
    assert.deepEqual(paths(await arrived(1)), ['/asks-not']);
  },

  'engagement: time looked at and depth read, of the page that was left': async ({ customer, tag, open, arrived, counted }) => {
    customer.head = tag('weir.engagement.js');
    customer.body = '<div style="height:6000px">long</div>';
    const from = Date.now();
    const page = await open('/read', { viewport: { width: 800, height: 600 } });
    await page.evaluate(() => scrollTo(0, 2400));
    await page.waitForTimeout(300);
    await page.evaluate(() => history.pushState({}, '', '/next')); // the same document, another page
    await page.evaluate(() => scrollTo(0, 0));
    await page.waitForTimeout(3_100);
    await page.goto('about:blank');
    const tookMs = Date.now() - from;
    const hits = await arrived(4);
    const [read, next] = ['/read', '/next'].map((path) => hits.find((hit) => hit.kind === 'engagement' && hit.path === path));
    assert.ok(read.scroll_percent >= 45 && read.scroll_percent <= 52, JSON.stringify(read));
    assert.ok(read.engaged_ms >= 200 && next.engaged_ms >= 3_000 && read.engaged_ms + next.engaged_ms <= tookMs, JSON.stringify([read, next, tookMs]));
    await counted({ pageviews: 2, hits: 2, events: 0 });
  },

  'off switches: own browser by either name, and a browser that is driven': async ({ customer, tag, open, hits, arrived }) => {
    customer.head = tag();
    await (await open('/own', {}, () => (localStorage.weir_ignore = '1'))).waitForTimeout(200);
    await (await open('/own', {}, () => (localStorage.plausible_ignore = 'true'))).waitForTimeout(200);
    await (await open('/driven', {}, () => Object.defineProperty(navigator, 'webdriver', { value: true }))).waitForTimeout(200);
    assert.equal(hits().length, 0);
    await open('/after');
    await arrived(1);
  },

  'all names of Plausible\'s script are answered': async ({ customer, tag, site, open, arrived }) => {
    const names = ['script.js', 'plausible.js', 'pa-Ab12_x.js', 'script.hash.outbound-links.tagged-events.local.compat.revenue.js'];
    for (const [at, name] of names.entries()) {
      customer.head = tag(name).replace('data-site', 'data-domain');
      await open(`/p${at}`);
      await arrived(at + 1);
    }
    assert.equal(customer.head.includes(site), true);
  },
};
