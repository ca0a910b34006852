// Takes a picture of every page, light and dark, wide and on a phone, into test/out/shots. `npm run shots [part of a name]`.
import { mkdir } from 'node:fs/promises';
import { launch } from './browser.mjs';
import { createMock } from './mock.mjs';

const only = process.argv[2] ?? '';
const out = new URL('../test/out/shots/', import.meta.url).pathname;
await mkdir(out, { recursive: true });

const listen = (mock) => new Promise((resolve) => mock.server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${mock.server.address().port}`)));
const full = createMock();
const fresh = createMock({ fresh: true });
const [base, freshBase] = [await listen(full), await listen(fresh)];

const login = async (page) => {
  await page.goto(`${base}/login`);
  await page.getByLabel('E-mail').fill('ada@example.com');
  await page.getByLabel('Password', { exact: true }).fill('a long password');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.waitForURL(`${base}/`);
};
const open = (path, then = async () => {}) => async (page) => {
  await login(page);
  await page.goto(base + path);
  await page.waitForTimeout(900);
  await then(page);
};

const shots = {
  'setup-1': async (page) => page.goto(`${freshBase}/setup#mock-token`),
  'setup-2': async (page) => {
    await page.goto(`${freshBase}/setup#mock-token`);
    await page.getByLabel('E-mail').fill('ada@example.com');
    await page.getByLabel('Password', { exact: true }).fill('a long password');
    await page.getByRole('button', { name: 'Next' }).click();
  },
  login: async (page) => page.goto(`${base}/login`),
  sites: open('/'),
  'site-2h': open('/s/example.com?range=2h'),
  'site-48h': open('/s/example.com?range=48h', async (page) => page.mouse.move(500, 420)),
  'site-31d': open('/s/example.com?range=31d&show=humans'),
  'site-compared': open('/s/example.com?range=today&compare=previous&show=bounce_rate', async (page) => page.mouse.move(500, 460)),
  'site-periods': open('/s/example.com?range=48h', async (page) => page.getByRole('button', { name: 'Other ranges' }).click()),
  'site-12mo': open('/s/example.com?range=12mo'),
  map: open('/s/example.com?range=31d', async (page) => {
    await page.getByRole('tab', { name: 'Map' }).click();
    await page.waitForTimeout(900);
    await page.getByRole('tab', { name: 'Map' }).scrollIntoViewIfNeeded();
  }),
  table: open('/s/example.com?range=48h', async (page) => page.getByRole('button', { name: 'Table' }).click()),
  all: open('/s/example.com?range=31d', async (page) => {
    await page.getByRole('button', { name: 'All pages' }).click();
    await page.waitForTimeout(400);
  }),
  links: open('/s/go.example?range=31d'),
  link: open('/s/go.example/l/spring?range=48h'),
  snippet: open('/s/new.example'),
  options: open('/s/new.example', async (page) => {
    for (const name of ['Outbound links', 'Missing pages', 'Browsers without JavaScript']) await page.getByLabel(name).check();
    await page.getByText('Events of your own').click();
  }),
  server: open('/s/new.example', async (page) => page.getByRole('tab', { name: 'Server' }).click()),
  refused: open('/s/example.com?range=48h', async (page) => page.getByText('hits refused').click()),
  quiet: open('/s/notes.example?range=2h'),
  settings: open('/settings'),
  diagnosis: open('/settings', async (page) => {
    await page.getByLabel('Judge another request').check();
    await page.getByRole('heading', { name: 'Diagnosis' }).scrollIntoViewIfNeeded();
  }),
  token: open('/settings', async (page) => {
    await page.getByRole('button', { name: 'Make a token' }).click();
    await page.getByLabel('Name').fill('grafana');
    await page.getByRole('button', { name: 'Make it' }).click();
    await page.waitForTimeout(300);
  }),
  away: open('/s/example.com?range=48h', async (page) => {
    full.state.away = true;
    for (const one of full.state.streams) one.destroy();
    await page.waitForSelector('.banner');
    full.state.away = false;
  }),
  green: open('/s/new.example', async (page) => {
    full.state.posted.push({ site: 'new.example', at: Date.now(), kind: 'pageview', visitor: 'x' });
    await page.waitForSelector('[data-first-hit=yes]');
    await page.waitForTimeout(500);
    full.state.posted.length = 0;
  }),
};

const looks = [
  ['light', { colorScheme: 'light', viewport: { width: 1200, height: 900 } }],
  ['dark', { colorScheme: 'dark', viewport: { width: 1200, height: 900 } }],
  ['phone', { colorScheme: 'light', viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 }],
  ['phone-dark', { colorScheme: 'dark', viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 }],
];

const browser = await launch();
for (const [look, options] of looks) {
  for (const [name, go] of Object.entries(shots)) {
    const file = `${name}-${look}`;
    if (!file.includes(only)) continue;
    const context = await browser.newContext({ ...options, locale: 'en-GB', timezoneId: 'Europe/Berlin' });
    const page = await context.newPage();
    page.on('console', (message) => message.type() === 'error' && !/away/.test(name) && !/401/.test(message.text()) && console.log(file, message.text()));
    page.on('pageerror', (error) => console.log(file, String(error)));
    await go(page).catch((error) => console.log(file, String(error)));
    await page.waitForTimeout(500);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (wide > 0) console.log(`${file}: ${wide} px too wide`);
    await page.screenshot({ path: `${out}${file}.png`, fullPage: !/token|all-|away/.test(file) });
    await context.close();
  }
}
await browser.close();
full.server.close();
fresh.server.close();
process.exit(0);
