// Names for the keys of the reports.
import type { Report } from './types';

const regions = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' });

// Codes that country databases use and that are no countries.
const special: Record<string, string> = { '??': 'Unknown', A1: 'Anonymous proxy', A2: 'Satellite provider', AP: 'Asia / Pacific', EU: 'Europe', T1: 'Tor', XK: 'Kosovo' };

export function countryName(code: string): string {
  const known = special[code];
  if (known) return known;
  if (!/^[A-Z]{2}$/.test(code)) return code || 'Unknown';
  return regions.of(code) ?? code;
}

/** The flag as an emoji; empty where there is none. */
export function flag(code: string): string {
  if (!/^[A-Z]{2}$/.test(code) || (code !== 'XK' && !regions.of(code)) || special[code] === 'Asia / Pacific') return '';
  return String.fromCodePoint(...[...code].map((letter) => 0x1f1e6 + letter.charCodeAt(0) - 65));
}

/** The referrer of those who go on within the site. It says nothing about where people come from, so cards leave it to the full list. */
export const internal = '(internal)';

/** Whether a key says that something is not known or not there, rather than what it is. */
export const isBlank = (key: string): boolean => key === '' || key === '??' || (key.startsWith('(') && key.endsWith(')'));

const devices: Record<string, string> = { desktop: 'Desktop', mobile: 'Mobile', tablet: 'Tablet', tv: 'TV', console: 'Console', wearable: 'Wearable', other: 'Other' };

const languages = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' });

/** The name of a language tag; the tag itself where it is none. */
export function languageName(tag: string): string {
  try {
    return languages.of(tag) ?? tag;
  } catch {
    return tag;
  }
}

export function keyName(report: Report, key: string): string {
  if (report === 'country') return countryName(key);
  if (key === '(direct)') return 'Direct / None';
  if (key === internal) return 'Within the site';
  if (key === '' || key === '(unknown)' || key === '??') return 'Unknown';
  if (report === 'screen') return `${key} px`;
  if (report === 'language') return languageName(key);
  if (report === 'device') return devices[key.toLowerCase()] ?? key;
  return key;
}

/** Where a row leads to outside, if anywhere. Only http(s) addresses are ever made. */
export function outside(report: Report, key: string, site: string): string {
  if (isBlank(key)) return '';
  if (report === 'page' && key.startsWith('/')) return new URL(key.replace(/^\/+/, '/'), `https://${site}`).href;
  if (report === 'referrer' && /^[a-z0-9.-]+\.[a-z]{2,}(\/\S*)?$/i.test(key)) return `https://${key}`;
  return '';
}
