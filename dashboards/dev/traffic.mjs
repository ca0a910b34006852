// Made-up traffic for the mock: a pure function of site and minute, so that every run and every screenshot shows the same curves.

const HOUR = 3_600_000;
const MINUTE = 60_000;

// A number in [0, 1) that depends on its arguments only.
export function chance(...parts) {
  let h = 2166136261;
  for (const letter of parts.join('|')) h = Math.imul(h ^ letter.charCodeAt(0), 16777619);
  h ^= h >>> 15;
  h = Math.imul(h, 2246822507);
  h ^= h >>> 13;
  return (h >>> 0) / 4294967296;
}

const formats = new Map();
export function wall(ms, zone) {
  if (!formats.has(zone)) {
    formats.set(zone, new Intl.DateTimeFormat('en-GB', { timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', timeZoneName: 'longOffset' }));
  }
  const part = Object.fromEntries(formats.get(zone).formatToParts(ms).map((p) => [p.type, p.value]));
  const match = /([+-])(\d\d):(\d\d)/.exec(part.timeZoneName);
  const offset = match ? (match[1] === '-' ? -1 : 1) * (Number(match[2]) * 60 + Number(match[3])) : 0;
  return { year: +part.year, month: +part.month, day: +part.day, hour: +part.hour, minute: +part.minute, offset };
}

// The instant at which a zone's calendar shows a day begin.
function midnight(year, month, day, zone) {
  let ms = Date.UTC(year, month - 1, day);
  for (let i = 0; i < 3; i++) ms = Date.UTC(year, month - 1, day) - wall(ms, zone).offset * MINUTE;
  return ms;
}

/** Starts of the newest n buckets, oldest first, and the end of the last. */
export function buckets(every, n, zone, now) {
  const w = wall(now, zone);
  const starts = [];
  for (let i = n - 1; i >= 0; i--) {
    if (every === 'minute') starts.push(Math.floor(now / MINUTE) * MINUTE - i * MINUTE);
    if (every === 'hour') starts.push(Math.floor((now + w.offset * MINUTE) / HOUR) * HOUR - w.offset * MINUTE - i * HOUR);
    if (every === 'day') starts.push(midnight(w.year, w.month, w.day - i, zone));
    if (every === 'month') starts.push(midnight(w.year, w.month - i, 1, zone));
  }
  return starts;
}

export function rfc3339(ms, zone) {
  const { offset } = wall(ms, zone);
  const local = new Date(ms + offset * MINUTE).toISOString().slice(0, 19);
  if (offset === 0) return local + 'Z';
  const pad = (n) => String(n).padStart(2, '0');
  return `${local}${offset < 0 ? '-' : '+'}${pad(Math.floor(Math.abs(offset) / 60))}:${pad(Math.abs(offset) % 60)}`;
}

const byHour = [0.22, 0.16, 0.12, 0.1, 0.11, 0.17, 0.3, 0.5, 0.74, 0.9, 0.97, 0.95, 0.86, 0.92, 0.98, 0.94, 0.88, 0.82, 0.8, 0.86, 0.9, 0.78, 0.55, 0.36];

// Page views per hour expected at an instant.
function strength(site, ms) {
  const w = wall(ms, site.timezone);
  const weekday = new Date(ms + w.offset * MINUTE).getUTCDay();
  const age = (Date.now() - ms) / (365 * 24 * HOUR);
  const spike = chance(site.name, 'spike', Math.floor(ms / (24 * HOUR))) > 0.95 ? 1.7 : 1;
  return site.perHour * byHour[w.hour] * (weekday === 0 || weekday === 6 ? 0.62 : 1) * Math.max(0.25, 1 - 0.6 * age) * spike;
}

/** Counts of one minute or of whole hours of a site, without what was really posted. */
export function made(site, from, to) {
  const out = { visitors: 0, pageviews: 0, hits: 0, humans: 0, bots: 0, events: 0, clicks: 0 };
  if (!site.perHour) return out;
  const end = Math.min(to, Date.now());
  const step = to - from > HOUR ? HOUR : MINUTE;
  for (let ms = Math.max(from, site.since); ms < end; ms += step) {
    const part = Math.min(step, end - ms) / HOUR;
    const expected = strength(site, ms) * part * (0.55 + 0.9 * chance(site.name, ms, step));
    const views = Math.floor(expected + chance(site.name, ms, 'rest'));
    const main = site.links ? 'clicks' : 'pageviews';
    out[main] += views;
    const events = site.links ? 0 : Math.floor(views * 0.06 + chance(site.name, ms, 'event') * 0.3);
    out.events += events;
    out.humans += views + events;
    out.bots += Math.floor(views * (site.links ? 0.35 : 0.14) + chance(site.name, ms, 'bot'));
  }
  out.hits = out.humans + out.bots;
  const main = out.pageviews + out.clicks;
  out.visitors = Math.ceil(main * (to - from > 24 * HOUR ? 0.36 : to - from > HOUR ? 0.44 : 0.7));
  return out;
}

const shares = {
  region: { 'DE-BE': 12, 'US-CA': 9, 'GB-LND': 7, 'FR-IDF': 4 },
  city: { 'Berlin, DE-BE': 12, 'San Francisco, US-CA': 6, 'London, GB-LND': 7 },
  source: { '(direct)': 40, Google: 30, 'Hacker News': 8, 'spring-letter': 6, Mastodon: 4 },
  channel: { Direct: 40, 'Organic Search': 30, 'Organic Social': 12, Email: 6, Referral: 5 },
  utm_source: { 'spring-letter': 6, google: 4 },
  utm_medium: { email: 6, cpc: 4 },
  utm_campaign: { sale: 6, brand: 4 },
  utm_term: { shoes: 2 },
  utm_content: { top: 3, side: 1 },
  title: { Welcome: 30, Pricing: 12, Docs: 9 },
  hostname: { 'www.example.com': 9, 'docs.example.com': 3 },
  event: { Signup: 5, Download: 2 },
  bot: { agent: 8, headless: 2 },
  browser_version: { 'Chrome 140': 40, 'Firefox 140': 20, 'Safari 18': 15 },
  os_version: { 'Windows 11': 30, 'macOS 15.1': 14, 'Android 15': 20, 'iOS 18.1': 16 },
  language: { en: 40, de: 30, 'pt-BR': 6, fr: 5 },
  screen: { 'under 576': 30, '576 to 991': 8, '992 to 1439': 20, '1440 and more': 35 },
  country: { DE: 31, US: 19, GB: 8.5, FR: 6.2, NL: 5.1, AT: 4.6, CH: 4.1, IN: 3.4, PL: 2.6, ES: 2.2, SE: 1.9, CA: 1.8, BR: 1.6, JP: 1.4, IT: 1.3, AU: 1.1, CZ: 0.9, DK: 0.8, UA: 0.7, SG: 0.6, KR: 0.5, MX: 0.45, ZA: 0.4, '??': 0.9, NO: 0.35, FI: 0.3, PT: 0.28, BE: 0.26, TR: 0.25, AR: 0.2, ID: 0.18, NZ: 0.15, IE: 0.14, RO: 0.13, KE: 0.1, NG: 0.08, EG: 0.07, VN: 0.06, XK: 0.02, MT: 0.02, IS: 0.03 },
  browser: { Chrome: 52, Safari: 21, Firefox: 12.5, Edge: 8, 'Samsung Internet': 2.7, Opera: 1.6, 'DuckDuckGo': 0.6, Vivaldi: 0.5, '(unknown)': 0.4, 'Yandex Browser': 0.3 },
  os: { Windows: 35, Android: 24, iOS: 18, macOS: 14, Linux: 7.4, ChromeOS: 0.9, '(unknown)': 0.4 },
  device: { desktop: 57, mobile: 38, tablet: 4.2, '(unknown)': 0.5 },
  page: { '/': 26, '/pricing': 9, '/docs/getting-started': 8, '/blog/how-a-weir-measures-a-river': 7.1, '/docs': 6, '/blog': 4, '/about': 3.3, '/docs/install/linux-with-a-very-long-title-that-never-seems-to-end': 2.8, '/download': 2.6, '/changelog': 2.2, '/docs/api': 2, '/contact': 1.1, '/impressum': 0.8, '/docs/tracker': 0.7, '/blog/ring-buckets': 0.6, '/search': 0.4, '/jobs': 0.3 },
  referrer: { '(direct)': 41, 'google.com': 22, 'news.ycombinator.com': 9, 'github.com': 7, 'bing.com': 3.4, 'duckduckgo.com': 3, 'chatgpt.com': 2.4, 'reddit.com': 2.1, 'lobste.rs': 1.3, 't.co': 1.1, 'linkedin.com': 0.9, 'mastodon.social': 0.7, 'de.wikipedia.org': 0.5 },
  link: { spring: 34, 'app-store': 21, 'menu-qr': 15, newsletter: 9, 'docs/v2': 6, 'jobs-berlin': 4, webinar: 3, poster: 2, 'a-rather-long-link-name-somebody-once-made': 1.2, x7f2: 0.7 },
};

/** The counts of a range spread over the rows of one report. */
export function breakdown(report, total, site) {
  const keys = Object.entries(shares[report]);
  const weights = keys.map(([key, weight]) => weight * (0.75 + 0.5 * chance(site.name, report, key)));
  const sum = weights.reduce((a, b) => a + b, 0);
  return keys
    .map(([key], i) => {
      const row = { key };
      for (const id of ['visitors', 'pageviews', 'humans', 'bots', 'events', 'clicks']) row[id] = Math.round((total[id] * weights[i]) / sum);
      row.hits = row.humans + row.bots;
      return row;
    })
    .filter((row) => row.hits > 0);
}
