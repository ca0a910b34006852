// What a person does with weir, in order. A step throws when something is not as it should be and may give back a note to print.
import assert from 'node:assert/strict';
import { humanAgent } from '../../dev/browser.mjs';

const email = 'ada@example.com';
const password = 'a long password';
const site = 'shop.example';
const patienceMs = 20_000; // a machine may be busy with other things: how long something took is told, and only never is a failure

// A context that notes every request to another host, every error in the console and every breach of the content policy.
async function person(world, options = {}) {
  const context = await world.browser.newContext({ locale: 'en-GB', timezoneId: 'Asia/Kolkata', viewport: { width: 1200, height: 900 }, ...options });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: world.weir.url }).catch(() => {});
  const page = await context.newPage();
  page.on('request', (request) => {
    if (!request.url().startsWith(world.weir.url) && !request.url().startsWith('data:')) world.complaints.push(`request to ${request.url()}`);
  });
  page.on('pageerror', (error) => world.complaints.push(`error on ${page.url()}: ${error}`));
  page.on('console', (message) => {
    // The browser itself reports answers of 4xx and lost connections; pages are meant to cope with those.
    if (message.type() === 'error' && !/Failed to load resource|ERR_|net::/.test(message.text())) world.complaints.push(`console on ${page.url()}: ${message.text()}`);
  });
  return page;
}

const figure = async (page, name) => Number((await page.locator('[data-figures] button', { hasText: name }).locator('.value').getAttribute('title'))?.replaceAll(',', '') ?? NaN);

async function until(what, check, withinMs = patienceMs) {
  const end = Date.now() + withinMs;
  let last;
  for (;;) {
    last = await check();
    if (last === true) return;
    if (Date.now() > end) throw new Error(`waited ${withinMs} ms for ${what}, last saw ${JSON.stringify(last)}`);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

/** Waits until a figure is the wanted one. */
const untilFigure = (page, name, want, why = '') =>
  until(`${want} for ${name} ${why}`, async () => {
    const got = await figure(page, name);
    return got === want || got;
  });

/** Waits until what is read is the wanted value: the page may need a moment to show it. */
const untilSame = (what, read, want) =>
  until(what, async () => {
    const got = await read();
    return got === want || got;
  });

/** Waits until what is shown answers for the chosen range: until then the figures of the one before stay, dimmed. */
const untilFresh = (page) => until('nothing to be dimmed', async () => (await page.locator('.figures.stale, .main.stale').count()) === 0 || 'dimmed');

const noSideways = async (page) => {
  const extra = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(extra <= 0, `${page.url()} is ${extra} px too wide`);
};

async function logIn(page) {
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Log in' }).click();
}

const visitor = async (world, path, init = () => {}) => {
  const context = await world.browser.newContext({ userAgent: humanAgent });
  await context.addInitScript(init);
  const page = await context.newPage();
  await page.goto(world.customer.url + path);
  return page;
};

export const steps = {
  'set-up asks for an account first and says what is wrong with it': async (world) => {
    const page = (world.page = await person(world));
    await page.goto(world.weir.setupLink);
    await page.getByRole('heading', { name: 'Welcome to weir' }).waitFor();
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password', { exact: true }).fill('short');
    await page.getByRole('button', { name: 'Next' }).click();
    assert.equal(await page.getByRole('heading', { name: 'Welcome to weir' }).count(), 1);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('heading', { name: 'What do you want to count?' }).waitFor();
  },

  'the time zone of the browser is chosen already': async ({ page }) => {
    assert.match(await page.getByLabel('Time zone').inputValue(), /^Asia\/(Kolkata|Calcutta)$/);
    await page.getByLabel('Time zone').selectOption('Europe/Berlin');
  },

  'set-up makes account and site and shows the snippet': async ({ page, weir, customer }) => {
    await page.getByLabel('Site', { exact: true }).fill(`https://www.${site}/some/page`);
    await page.getByRole('button', { name: 'Set up' }).click();
    await page.getByText('Waiting for the first hit').waitFor();
    const snippet = await page.getByRole('region', { name: 'the snippet' }).textContent();
    assert.equal(snippet, `<script defer data-site="${site}" src="${weir.url}/js/weir.js"></script>`);
    await page.getByRole('button', { name: 'Copy the snippet' }).click();
    await page.getByText('Copied').waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), snippet);
    assert.equal(new URL(page.url()).hash, '', 'the used token stays in the address');
    customer.setHead(snippet);
  },

  'what is ticked is in the snippet, and the keyboard ticks too': async ({ page, weir, customer }) => {
    await page.getByLabel('Missing pages').check();
    await page.getByLabel('Outbound links').focus();
    await page.keyboard.press('Space');
    const text = () => page.getByRole('region', { name: 'the snippet' }).textContent();
    assert.equal(await text(), `<script defer data-site="${site}" src="${weir.url}/js/weir.outbound-links.404.js"></script>`);
    await page.getByLabel('Browsers without JavaScript').check();
    assert.match(await page.getByRole('region', { name: 'the pixel' }).textContent(), /^<noscript><img src=".*\/p\.gif\?d=shop\.example"/);
    customer.setHead(await text());
  },

  'a visit turns the light green': async (world) => {
    const { page } = world;
    const guest = (world.guest = await visitor(world, '/welcome?utm_source=test'));
    const from = Date.now();
    await until('the green light', async () => (await page.locator('[data-first-hit=yes]').count()) === 1 || 'not green');
    const took = Date.now() - from;
    await page.screenshot({ path: `${world.out}green.png` });
    assert.equal(await guest.evaluate(() => document.cookie), '');
    return `${took} ms after the page had loaded`;
  },

  'and leads on to the dashboard': async ({ page }) => {
    await page.waitForURL(`**/s/${site}?range=2h`);
    await untilFigure(page, 'Visitors', 1);
    await untilFigure(page, 'Page views', 1);
    await page.locator('[data-card=pages]').getByText('/welcome').first().waitFor();
    await page.locator('[data-card=sources]').getByRole('rowheader', { name: 'test' }).waitFor();
  },

  'moving within a page and custom events arrive live': async ({ page, guest }) => {
    const from = Date.now();
    await guest.evaluate(() => history.pushState({}, '', '/second'));
    await untilFigure(page, 'Page views', 2);
    const took = Date.now() - from;
    await guest.evaluate(() => window.weir('Signup', { props: { plan: 'pro' } }));
    await until('the event', async () => (await page.locator('[data-figures]').getByText('Events').count()) === 1 || 'no figure for events');
    await untilFigure(page, 'Visitors', 1);
    return `second view shown after ${took} ms`;
  },

  'own visits are not counted when told so': async (world) => {
    const before = await figure(world.page, 'Page views');
    const own = await visitor(world, '/own', () => localStorage.setItem('weir_ignore', 'true'));
    await own.evaluate(() => window.weir('Never'));
    await own.waitForTimeout(400);
    const counted = await visitor(world, '/after');
    await untilFigure(world.page, 'Page views', before + 1);
    await own.context().close();
    await counted.context().close();
  },

  'bots are counted apart': async (world) => {
    const before = await figure(world.page, 'Hits');
    const answer = await fetch(`${world.weir.url}/api/event`, {
      method: 'POST',
      headers: { 'Content-Type': 'text/plain', 'User-Agent': 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)' },
      body: JSON.stringify({ n: 'pageview', u: `https://${site}/robots`, d: site }),
    });
    assert.equal(answer.status, 202);
    await untilFigure(world.page, 'Bots', 1);
    await untilFigure(world.page, 'Hits', before);
  },

  'refused hits are told, with their reason': async ({ page, weir }) => {
    const answer = await fetch(`${weir.url}/api/event`, { method: 'POST', body: JSON.stringify({ n: 'pageview', u: 'https://nowhere.example/', d: 'nowhere.example' }) });
    assert.equal(answer.status, 400);
    const summary = page.locator('[data-refused] summary');
    await summary.getByText('and 1 that named no site').waitFor({ timeout: 60_000 }); // numbers are written every five seconds and asked for every ten
    await summary.focus();
    await page.keyboard.press('Enter');
    await page.getByText('Named a site that is not here').waitFor();
    await page.keyboard.press('Enter');
  },

  'ranges, metrics and the table work by mouse and keyboard': async ({ page }) => {
    for (const [name, id] of [['48 hours', '48h'], ['31 days', '31d'], ['12 months', '12mo']]) {
      await page.getByRole('radio', { name }).click();
      await page.waitForURL(`**range=${id}*`);
      await untilFresh(page);
      await untilFigure(page, 'Visitors', 1, `in ${name}`);
    }
    await page.keyboard.press('h');
    await page.waitForURL('**range=2h*');
    await untilFresh(page);
    await page.getByRole('button', { name: /^Hits/ }).click();
    await page.waitForURL('**show=humans*');
    const graph = page.getByRole('slider');
    await untilSame('the last of 120 minutes', () => graph.getAttribute('aria-valuemax'), '119');
    const at = () => graph.getAttribute('aria-valuenow');
    await graph.focus();
    await page.keyboard.press('Home');
    await untilSame('the first minute', at, '0');
    assert.match(await graph.getAttribute('aria-valuetext'), /: 0 hits$/);
    await page.keyboard.press('ArrowRight');
    await untilSame('the second minute', at, '1');
    await page.keyboard.press('End');
    await until('the minute that is being filled', async () => {
      const told = await graph.getAttribute('aria-valuetext');
      return /still being filled$/.test(told) || told;
    });
    await page.getByRole('button', { name: 'Table' }).click();
    await untilSame('120 rows', () => page.locator('section.main table tbody tr').count(), 120);
    const [inGraph, shown] = await page.evaluate(() => { // in one go, because hits may come meanwhile
      const number = (text) => Number(text.replaceAll(',', ''));
      const table = document.querySelector('section.main table');
      const column = [...table.querySelectorAll('thead th')].findIndex((head) => head.textContent.trim() === 'Hits');
      const figure = [...document.querySelectorAll('[data-figures] button')].find((button) => button.textContent.includes('Hits'));
      return [[...table.querySelectorAll('tbody tr')].reduce((sum, row) => sum + number(row.children[column].textContent), 0), number(figure.querySelector('.value').title)];
    });
    assert.ok(shown > 0);
    assert.equal(inGraph, shown, 'graph and figures differ');
    await page.getByRole('button', { name: 'Graph' }).click();
  },

  'visits are shown, and a range beside the one before': async ({ page }) => {
    await page.getByRole('button', { name: 'Other ranges' }).click();
    await page.getByRole('button', { name: 'Today' }).click();
    await page.waitForURL('**range=today*');
    await untilFresh(page);
    await untilFigure(page, 'Visits', 1, 'today');
    const graph = page.getByRole('slider');
    await until('the hour that is being filled', async () => {
      const told = await graph.getAttribute('aria-valuetext');
      return /still being filled/.test(told) || told;
    });
    assert.equal(await page.locator('[data-change]').count(), 0);
    await page.keyboard.press('c');
    await page.waitForURL('**compare=previous*');
    await until('what is compared', async () => (await page.locator('[data-change]').count()) > 2 || 'no changes are shown');
    await page.getByRole('button', { name: 'Other ranges' }).click();
    await page.getByRole('button', { name: 'The year before' }).click();
    await page.waitForURL('**compare=year*');
    await page.getByRole('button', { name: 'Other ranges' }).click();
    await page.getByRole('button', { name: 'Nothing' }).click();
    await until('nothing to be compared', async () => (await page.locator('[data-change]').count()) === 0 || 'still compared');
    await page.getByRole('tab', { name: 'Entry' }).click();
    await page.locator('[data-card=pages]').getByText('/welcome').first().waitFor();
    await page.getByRole('tab', { name: 'Pages' }).click();
    await page.keyboard.press('h');
    await page.waitForURL('**range=2h*');
    await untilFresh(page);
  },

  'the time of the site is shown and moves on': async ({ page }) => {
    const clock = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', hour: '2-digit', minute: '2-digit' });
    const read = () => page.locator('[data-complete-to]').textContent();
    await until('a time that is near', async () => {
      const text = await read();
      return [Date.now(), Date.now() - 60_000].some((ms) => text.includes(`Complete up to ${clock.format(ms)}:`)) || text;
    });
    assert.match(await read(), /Complete up to \d\d:\d\d:\d\d \(Europe\/Berlin, UTC\+[12]\)/);
  },

  'places are shown as a list and a map, with the attribution': async (world) => {
    const card = world.page.locator('[data-card=places]');
    await card.getByText('Unknown').waitFor(); // a visitor from this machine
    await card.getByRole('tab', { name: 'Map' }).click();
    await card.locator('svg[role=img]').waitFor();
    await until('more than 150 countries', async () => (await card.locator('path[data-code]').count()) > 150 || 'fewer');
    const attribution = world.page.getByRole('link', { name: 'IP Geolocation by DB-IP' });
    assert.equal(await attribution.getAttribute('href'), 'https://db-ip.com');
    await card.getByRole('tab', { name: 'Countries' }).click();
  },

  'sources, channels, campaigns, events and details have cards': async ({ page, weir }) => {
    const headers = { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Accept-Language': 'pt-BR,pt;q=0.9' };
    const post = (body) => fetch(`${weir.url}/api/event`, { method: 'POST', headers, body: JSON.stringify({ d: site, ...body }) });
    for (const body of [
      { n: 'pageview', u: `https://${site}/sale?utm_source=spring-letter&utm_medium=email&utm_campaign=sale`, t: 'The sale', w: 1280 },
      { n: 'pageview', u: `https://${site}/found`, r: 'https://www.google.com/' },
      { n: 'Signup', u: `https://${site}/found` },
    ]) {
      const answer = await post(body);
      assert.equal(answer.status, 202, await answer.text());
    }
    const rowOf = async (card, tab, text) => {
      if (tab) await page.locator(`[data-card=${card}]`).getByRole('tab', { name: tab, exact: true }).click();
      await page.locator(`[data-card=${card}]`).getByRole('rowheader', { name: text }).first().waitFor();
    };
    await rowOf('sources', 'Sources', 'Google');
    await rowOf('sources', 'Sources', 'spring-letter');
    await rowOf('sources', 'Channels', 'Organic Search');
    await rowOf('sources', 'Referrers', 'google.com');
    await rowOf('campaigns', 'Campaigns', 'sale');
    await rowOf('campaigns', 'Medium', 'email');
    await rowOf('events', '', 'Signup');
    await rowOf('details', 'Browser versions', 'Firefox 140');
    await rowOf('details', 'Languages', 'Portuguese');
    await rowOf('pages', 'Hosts', site);
    await rowOf('pages', 'Pages', '/sale');
    await rowOf('sources', 'Sources', 'Google');
  },

  'clicks on short links show as links, each with a page of its own': async ({ page, weir }) => {
    const lines = [1, 2, 3].map((i) => JSON.stringify({ id: `c${i}`, site, link: i < 3 ? 'spring/sale' : 'menu', dest: `https://${site}/sale`, ip: `203.0.113.${i}`, ua: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }));
    const answer = await fetch(`${weir.url}/api/clicks`, { method: 'POST', headers: { 'Content-Type': 'application/x-ndjson' }, body: lines.join('\n') });
    assert.equal(answer.status, 202, await answer.text());
    const card = page.locator('[data-card=links]');
    await card.getByRole('link', { name: 'spring/sale' }).click();
    await page.waitForURL(`**/s/${site}/l/spring%2Fsale**`);
    await page.getByRole('heading', { name: 'spring/sale' }).waitFor();
    await untilFigure(page, 'Clicks', 2, 'of this link');
    await untilFigure(page, 'Visitors', 2);
    assert.equal(await page.locator('[data-card=pages]').count(), 0);
    await page.reload();
    await untilFigure(page, 'Clicks', 2, 'after a reload');
    await page.goBack();
    await page.waitForURL(`**/s/${site}?**`);
  },

  'dark and light follow the system and the choice, which stays': async ({ page }) => {
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const choose = (name) => page.getByRole('button', { name: `Use ${name} colours` });
    await page.emulateMedia({ colorScheme: 'dark' });
    await choose('light').waitFor();
    const dark = await ground();
    await page.emulateMedia({ colorScheme: 'light' });
    await choose('dark').waitFor();
    const light = await ground();
    assert.notEqual(dark, light);
    await choose('dark').click();
    await untilSame('dark by choice', ground, dark);
    await page.reload();
    await choose('light').waitFor();
    assert.equal(await ground(), dark);
    await choose('light').click();
    await untilSame('light by choice', ground, light);
  },

  'sites are listed, and another is added': async (world) => {
    const { page } = world;
    await page.getByRole('link', { name: 'All sites' }).first().click();
    const card = page.locator(`[data-site="${site}"]`);
    await card.getByText(/current visitor/).waitFor();
    await page.getByRole('button', { name: 'Add a site' }).click();
    await page.getByLabel('Site', { exact: true }).fill(site);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('alert').first().waitFor(); // the name is taken
    await page.getByLabel('Site', { exact: true }).fill('other.example');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.waitForURL('**/s/other.example');
    await page.getByText('Waiting for the first hit').waitFor();
  },

  'people and tokens are added; a token is shown once': async ({ page, weir }) => {
    await page.goto(`${weir.url}/settings`);
    await page.getByRole('button', { name: 'Add a person' }).click();
    await page.getByRole('dialog').getByLabel('E-mail').fill('bob@example.com');
    await page.getByRole('dialog').getByLabel('Password', { exact: true }).fill('another password');
    await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('bob@example.com').first().waitFor();
    await page.getByRole('button', { name: 'Make a token' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('grafana');
    await page.getByRole('button', { name: 'Make it' }).click();
    assert.match(await page.getByRole('region', { name: 'the token' }).textContent(), /^weir_\S{16,}$/);
    await page.getByRole('button', { name: 'I have it' }).click();
    await page.getByText(/weir_\S{16,}/).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Delete grafana' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No tokens yet.').waitFor();
  },

  'a short link is added, leads on and is counted, and is deleted': async (world) => {
    const { page, weir, customer } = world;
    const section = page.locator('section', { has: page.getByRole('heading', { name: 'Short links' }) });
    const dialog = page.getByRole('dialog');
    const row = section.locator('[data-links] li', { hasText: '/l/poster' });
    await page.goto(`${weir.url}/settings`);
    await page.getByLabel('Site of the links').selectOption('other.example');
    const add = async (dest, name) => {
      await dialog.getByLabel('Leads to').fill(dest);
      await dialog.getByLabel('Name', { exact: true }).fill(name);
      await dialog.getByRole('button', { name: 'Add it' }).focus();
      await page.keyboard.press('Enter');
    };
    await section.getByRole('button', { name: 'Add a link' }).focus();
    await page.keyboard.press('Enter');
    await add(`${customer.url}/from-a-poster`, 'poster');
    await dialog.getByRole('heading', { name: 'The link works' }).waitFor();
    assert.equal(await dialog.getByRole('region', { name: 'the link' }).textContent(), `${weir.url}/l/poster`);
    assert.ok(await dialog.evaluate((element) => element.contains(document.activeElement)), 'the focus is lost');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });

    const context = await world.browser.newContext({ userAgent: humanAgent });
    const guest = await context.newPage();
    await guest.goto(`${weir.url}/l/poster`);
    assert.equal(guest.url(), `${customer.url}/from-a-poster`);
    await context.close();
    await until('one click', async () => {
      await page.reload();
      await page.getByLabel('Site of the links').selectOption('other.example');
      const clicks = await row.locator('[data-clicks]').getAttribute('data-clicks');
      return clicks === '1' || clicks;
    });

    await section.getByRole('button', { name: 'Add a link' }).click();
    await add(`${customer.url}/`, 'poster'); // the name is taken
    await dialog.getByRole('alert').waitFor();
    assert.equal(await dialog.getByLabel('Name', { exact: true }).getAttribute('aria-invalid'), 'true');
    await page.keyboard.press('Escape');

    await row.getByRole('button', { name: 'Delete poster' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await row.waitFor({ state: 'detached' });
    assert.equal((await fetch(`${weir.url}/l/poster`, { redirect: 'manual' })).status, 404);
  },

  'rules of a site are set, what is wrong is seen, and they stay': async ({ page, weir }) => {
    await page.goto(`${weir.url}/settings`);
    const dialog = page.getByRole('dialog');
    const open = async () => {
      await page.getByRole('button', { name: 'Edit other.example' }).click();
      await dialog.getByText('Rules', { exact: true }).focus();
      await page.keyboard.press('Enter');
    };
    const save = async () => {
      await dialog.getByRole('button', { name: 'Save' }).focus();
      await page.keyboard.press('Enter');
    };
    await open();
    await dialog.getByLabel('Own addresses').fill('localhost');
    await dialog.getByLabel('Not from these countries').fill('de fr');
    await dialog.getByLabel('Keep only some parameters').check();
    await dialog.getByLabel('Parameters', { exact: true }).fill('q, page');
    await save();
    await dialog.getByText(/"localhost" is neither an address/).waitFor();
    await until('what is wrong in sight', () => dialog.getByLabel('Own addresses').evaluate((input) => {
      const [box, within] = [input.getBoundingClientRect(), input.closest('dialog').getBoundingClientRect()];
      return box.top >= within.top && box.bottom <= within.bottom;
    }));
    await dialog.getByLabel('Own addresses').fill('192.0.2.0/24');
    await save();
    await dialog.waitFor({ state: 'detached' });
    await page.reload();
    await open();
    for (const [name, value] of [['Own addresses', '192.0.2.0/24'], ['Not from these countries', 'DE, FR'], ['Parameters', 'q, page']]) {
      assert.equal(await dialog.getByLabel(name, { exact: true }).inputValue(), value);
    }
    await page.setViewportSize({ width: 360, height: 740 });
    await noSideways(page);
    assert.ok(await dialog.evaluate((element) => element.firstElementChild.scrollWidth <= element.firstElementChild.clientWidth), 'the dialog is too wide');
    await page.setViewportSize({ width: 1200, height: 900 });
    await page.keyboard.press('Escape');
  },

  'a viewer sees counts and no administration': async (world) => {
    const page = await person(world);
    await page.goto(`${world.weir.url}/login`);
    await page.getByLabel('E-mail').fill('bob@example.com');
    await page.getByLabel('Password', { exact: true }).fill('wrong password');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Password', { exact: true }).fill('another password');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.locator(`[data-site="${site}"]`).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Add a site' }).count(), 0);
    await page.goto(`${world.weir.url}/settings`);
    await page.getByRole('heading', { name: 'This weir' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Make a token' }).count(), 0);
    await page.context().close();
  },

  'the diagnosis says which header told the address, and what each hop was': async ({ page, weir, out }) => {
    await page.goto(`${weir.url}/settings`);
    const section = page.locator('section', { has: page.getByRole('heading', { name: 'Diagnosis' }) });
    await section.getByRole('heading', { name: 'On its way to here' }).waitFor();
    if (!process.env.WEIR_BIN) return 'the mock knows no hops';
    await section.getByLabel('Site').selectOption(site);
    await section.getByLabel('Judge another request').check();
    await section.getByLabel('It arrives from').fill('127.0.0.1');
    await section.getByLabel('Headers').fill('X-Forwarded-For: 1.1.1.1, 8.8.8.8, 127.0.0.9\nCF-Connecting-IP: 9.9.9.9');
    await section.getByRole('button', { name: 'Look again' }).click();
    const hop = (text) => section.locator('.steps li', { has: page.getByText(text, { exact: true }) }).locator('.what').textContent();
    await until('the visitor behind two proxies', async () => (await hop('8.8.8.8').catch(() => '')) === 'the visitor');
    assert.equal(await hop('127.0.0.9'), 'a trusted proxy');
    assert.equal(await hop('127.0.0.1'), 'a trusted proxy');
    assert.equal(await hop('1.1.1.1'), 'not believed: further away than the visitor');
    assert.equal(await hop('9.9.9.9'), 'not asked');
    await section.getByText('--client-header Cf-Connecting-Ip').waitFor();
    await section.getByText(/built-in .*, of .* days old/).waitFor();
    await section.screenshot({ path: `${out}diagnosis.png` });
    await section.getByLabel('Headers').fill('X-Forwarded-For: unknown');
    await section.getByRole('button', { name: 'Look again' }).click();
    await section.getByText('nothing: a proxy names no address').waitFor();
  },

  'a login that ended asks again and comes back to the same place': async ({ page, weir }) => {
    await page.goto(`${weir.url}/s/${site}?range=31d`);
    await page.locator('canvas').waitFor();
    await page.context().clearCookies();
    await page.keyboard.press('d'); // 48 hours, or nothing: the page may have asked by itself and be at the log-in already
    await page.getByText('Your login has ended').waitFor();
    const back = new URL(page.url()).searchParams.get('next');
    assert.match(back, /^\/s\/shop\.example\?range=(31d|48h)$/);
    await logIn(page);
    await page.waitForURL(weir.url + back);
    await page.locator('canvas').waitFor();
  },

  'a server that goes away is said so, and the page goes on when it is back': async ({ page, weir, out }) => {
    await weir.goAway();
    await page.getByText('weir cannot be reached').waitFor({ timeout: 60_000 });
    assert.ok(await page.locator('canvas').isVisible(), 'the last figures are gone');
    await page.screenshot({ path: `${out}away.png` });
    await weir.comeBack();
    await page.getByRole('button', { name: 'Try now' }).click({ timeout: 2_000 }).catch(() => {}); // it may have found out by itself
    await page.getByText('weir cannot be reached').waitFor({ state: 'detached', timeout: 60_000 });
    await untilFigure(page, 'Clicks', 3, 'as before');
  },

  'hits after the return are live again': async (world) => {
    const before = await figure(world.page, 'Page views');
    const guest = await visitor(world, '/back');
    await untilFigure(world.page, 'Page views', before + 1);
    await guest.context().close();
  },

  'every page fits a phone of 360 px': async (world) => {
    const { page } = world;
    await page.setViewportSize({ width: 360, height: 740 });
    for (const path of ['/', `/s/${site}?range=2h`, `/s/${site}/l/menu`, '/s/other.example', '/settings', '/nowhere', '/s/unknown.example']) {
      await page.goto(world.weir.url + path);
      await page.locator('h1').first().waitFor({ state: 'attached' });
      await page.waitForTimeout(250);
      await noSideways(page);
    }
    await page.setViewportSize({ width: 1200, height: 900 });
  },

  'the keyboard alone gets around': async ({ page, weir }) => {
    await page.goto(`${weir.url}/s/${site}?range=48h`);
    await page.locator('canvas').waitFor();
    await page.keyboard.press('Tab');
    await untilSame('the first stop', () => page.evaluate(() => document.activeElement.textContent), 'Skip to the figures');
    await page.getByRole('radio', { name: '48 hours' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.waitForURL('**range=31d*');
    await page.getByRole('button', { name: /^Site/ }).focus();
    await page.keyboard.press('Enter');
    const inMenu = page.locator('.menu .panel :is(a, button)').first();
    await inMenu.waitFor();
    await page.keyboard.press('ArrowDown');
    await until('the focus on the first entry', async () => (await inMenu.evaluate((entry) => entry === document.activeElement)) || 'elsewhere');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/s\/other\.example/);
    await page.getByRole('button', { name: 'Account and settings' }).click();
    await page.getByRole('link', { name: 'Settings' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Settings' }).waitFor({ state: 'detached' });
  },

  'logging out ends the session': async ({ page, weir }) => {
    await page.getByRole('button', { name: 'Account and settings' }).click();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.waitForURL('**/login');
    await page.goto(`${weir.url}/settings`);
    await page.waitForURL('**/login?next=%2Fsettings');
    await noSideways(page);
    await page.goto(`${weir.url}/setup`);
    await page.waitForURL('**/login'); // set-up is over
  },

  'nothing was loaded from elsewhere and nothing broke the content policy': async ({ complaints }) => {
    assert.deepEqual(complaints, []);
  },
};
