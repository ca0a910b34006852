// Draws the world once, at build time, so that the browser needs neither a projection nor topology code: one SVG path per country, by
// ISO code, in a box of `width` x `height`. Borders come from world-atlas (Natural Earth, public domain).
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { geoEqualEarth, geoPath } from 'd3-geo';
import { feature } from 'topojson-client';
import { presimplify, simplify, filter, filterWeight } from 'topojson-simplify';

export const width = 1000;
export const height = 460;
const keepWeight = 0.018; // spherical degrees squared: below this a bend is not seen at 1000 px
const dotBelow = 14; // square px: smaller countries are drawn as a dot, so that they can be seen and pointed at

// Natural Earth gives disputed areas no number; Kosovo has a code of its own that mmdb files use.
const unnumbered = { Kosovo: 'XK' };

// isoCode turns the number of a country (ISO 3166-1) into its two letters: CLDR knows the numbers as aliases.
function isoCode(number) {
  const region = new Intl.Locale(Intl.getCanonicalLocales(`und-${number}`)[0]).region;
  return /^[A-Z]{2}$/.test(region ?? '') ? region : null;
}

export async function drawWorld() {
  const require = createRequire(import.meta.url);
  const topology = JSON.parse(await readFile(require.resolve('world-atlas/countries-50m.json'), 'utf8'));
  let light = presimplify(topology);
  light = simplify(light, keepWeight);
  light = filter(light, filterWeight(light, keepWeight));

  const wanted = (geometry) => geometry.properties.name !== 'Antarctica';
  const full = feature(topology, topology.objects.countries).features.filter(wanted);
  // By name, not by place: the filter drops countries that have no ring left, and those keep their full outline.
  const simple = new Map(feature(light, light.objects.countries).features.map((f) => [f.properties.name, f]));

  const projection = geoEqualEarth().rotate([-11, 0]);
  projection.fitExtent([[2, 2], [width - 2, height - 2]], { type: 'FeatureCollection', features: full });
  const exact = geoPath(projection);
  const path = geoPath(projection).digits(1);

  const countries = [];
  for (const country of full) {
    const code = country.id ? isoCode(country.id) : (unnumbered[country.properties.name] ?? null);
    const [x, y] = exact.centroid(country).map((v) => Math.round(v * 10) / 10);
    if (code && exact.area(country) < dotBelow) {
      countries.push([code, 0, x, y]);
      continue;
    }
    const line = path(simple.get(country.properties.name) ?? country) || path(country);
    if (line) countries.push([code ?? '', shorten(line)]);
  }
  return { width, height, countries };
}

// shorten writes an absolute path of M, L and Z with relative steps in tenths of a pixel: half the bytes.
function shorten(line) {
  let out = '';
  for (const ring of line.split('M').slice(1)) {
    const points = ring.replace('Z', '').split('L').map((p) => p.split(',').map((v) => Math.round(Number(v) * 10)));
    if (points.length < 3) continue;
    let [px, py] = points[0];
    out += `M${px} ${py}l`;
    const steps = [];
    for (const [x, y] of points.slice(1)) {
      if (x === px && y === py) continue;
      steps.push(`${x - px} ${y - py}`);
      [px, py] = [x, y];
    }
    out += steps.join(' ').replaceAll(' -', '-') + 'z';
  }
  return out;
}
