// The tracker with each of its options, and the unmodified clients of others, against the binary WEIR_BIN: part of `npm run e2e`. What they
// send is looked for in the log and in the counts. Each step has a site of its own, so none leans on another.
import { existsSync } from 'node:fs';
import { executablePath, launch } from '../../dev/browser.mjs';
import { clientSteps } from './clients.mjs';
import { customerSite } from './customer.mjs';
import { optionSteps } from './options.mjs';
import { sendingSteps } from './sending.mjs';
import { startServer } from './server.mjs';
import { setUp } from './world.mjs';

const missing = [!process.env.WEIR_BIN && 'WEIR_BIN names no binary', (!executablePath || !existsSync(executablePath)) && 'no Chromium found'].filter(Boolean);
if (missing.length) {
  console.log(`tracker tests skipped: ${missing.join(', ')}`);
  process.exit(0);
}

const [weir, browser] = await Promise.all([startServer(), launch()]);
const customer = await customerSite(weir.url);
const world = await setUp(weir, browser, customer);
const only = process.argv[2] ?? '';
let passed = 0;
let failed = 0;
for (const [name, run] of Object.entries({ ...optionSteps, ...sendingSteps, ...clientSteps })) {
  if (!name.includes(only)) continue;
  const from = Date.now();
  try {
    await run(await world.step());
    passed++;
    console.log(`ok    ${name} (${Date.now() - from} ms)`);
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}: ${error.stack ?? error}`);
  }
  await world.closePages();
}
if (failed) console.log(weir.log().split('\n').slice(-30).join('\n'));
await browser.close();
world.stop();
customer.stop();
await weir.stop();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
