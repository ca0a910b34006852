// Drives the built dashboard in Chromium as a person would: `npm run e2e`, against the binary WEIR_BIN or else against the mock. Needs
// dist/ (npm run build). Steps build on each other and stop at the first that fails, because the rest would only fail with it.
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { executablePath, launch } from '../../dev/browser.mjs';
import { startServer } from './server.mjs';
import { steps } from './steps.mjs';

if (!executablePath || !existsSync(executablePath)) {
  console.log('browser tests skipped: no Chromium found; install the package chromium, or name one with CHROMIUM');
  console.log('0 passed, 0 failed, 1 skipped');
  process.exit(0);
}
if (!process.env.WEIR_BIN && !existsSync(new URL('../../dist/index.html', import.meta.url))) {
  console.error('dist/ is empty: run npm run build first');
  process.exit(1);
}

// The page of a customer, on another origin than weir.
async function customerSite() {
  let html = '';
  const server = createServer((request, response) => {
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    response.end(`<!doctype html><title>Customer</title><head>${html}</head><h1>${request.url}</h1>`);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, setHead: (text) => (html = text), stop: () => server.close() };
}

const out = new URL('../out/', import.meta.url).pathname;
await mkdir(out, { recursive: true });
const [weir, customer, browser] = await Promise.all([startServer(), customerSite(), launch()]);
console.log(`against ${weir.what}`);

const world = { weir, customer, browser, out, complaints: [] };
let passed = 0;
let failed = 0;
for (const [name, run] of Object.entries(steps)) {
  const from = Date.now();
  try {
    const note = await run(world);
    passed++;
    console.log(`ok    ${name} (${Date.now() - from} ms)${note ? `: ${note}` : ''}`);
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}: ${error.stack ?? error}`);
    await world.page?.screenshot({ path: `${out}failed.png`, fullPage: true }).catch(() => {});
    if (weir.log) console.log(weir.log().split('\n').slice(-30).join('\n'));
    break;
  }
}
await browser.close();
customer.stop();
await weir.stop();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
