// Times of a site, written in the zone of the site and never in the zone of the browser. Where buckets begin and end is decided by the
// server; here their starts are only written out.

export const dateLocale = (language = globalThis.navigator?.language ?? 'en-GB'): string => (language === 'en-US' ? 'en-US' : 'en-GB');

const formats = new Map<string, Intl.DateTimeFormat>();

function format(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = zone + JSON.stringify(options);
  let made = formats.get(key);
  if (!made) {
    made = new Intl.DateTimeFormat(dateLocale(), { timeZone: zone, hourCycle: 'h23', ...options });
    formats.set(key, made);
  }
  return made;
}

/** Minutes that the clocks of a zone are ahead of UTC at an instant. */
export function offsetMinutes(ms: number, zone: string): number {
  const name = format(zone, { timeZoneName: 'longOffset' })
    .formatToParts(ms)
    .find((part) => part.type === 'timeZoneName')?.value;
  const match = /([+-])(\d\d):(\d\d)/.exec(name ?? '');
  return match ? (match[1] === '-' ? -1 : 1) * (Number(match[2]) * 60 + Number(match[3])) : 0;
}

/** UTC, UTC+1, UTC+5:30 */
export function offsetName(ms: number, zone: string): string {
  const minutes = offsetMinutes(ms, zone);
  if (minutes === 0) return 'UTC';
  const [h, m] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? '−' : '+'}${h}${m ? ':' + String(m).padStart(2, '0') : ''}`;
}

export interface Wall {
  year: number;
  month: number; // 1 to 12
  day: number;
  hour: number;
  minute: number;
  weekday: string; // Mon
}

/** What calendar and clock on the wall say in a zone. */
export function wall(ms: number, zone: string): Wall {
  const parts = format(zone, { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', weekday: 'short' }).formatToParts(ms);
  const get = (type: string) => parts.find((part) => part.type === type)?.value ?? '0';
  return {
    year: Number(get('year')),
    month: Number(get('month')),
    day: Number(get('day')),
    hour: Number(get('hour')),
    minute: Number(get('minute')),
    weekday: get('weekday'),
  };
}

/** 12:03 */
export const clock = (ms: number, zone: string): string => format(zone, { hour: '2-digit', minute: '2-digit' }).format(ms);

/** 12:03:27 */
export const clockSeconds = (ms: number, zone: string): string => format(zone, { hour: '2-digit', minute: '2-digit', second: '2-digit' }).format(ms);

// British English has one month of four letters.
const shortMonth = (text: string) => text.replace('Sept', 'Sep');

/** 26 Oct */
export const dayMonth = (ms: number, zone: string): string => shortMonth(format(zone, { day: 'numeric', month: 'short' }).format(ms));

/** Sun 26 Oct */
export const weekdayDay = (ms: number, zone: string): string => shortMonth(format(zone, { weekday: 'short', day: 'numeric', month: 'short' }).format(ms).replace(',', ''));

/** 26 Oct 2025 */
export const date = (ms: number, zone: string): string => shortMonth(format(zone, { day: 'numeric', month: 'short', year: 'numeric' }).format(ms));

/** Oct, and October 2025 for the long form. */
export const month = (ms: number, zone: string): string => shortMonth(format(zone, { month: 'short' }).format(ms));
export const monthYear = (ms: number, zone: string): string => format(zone, { month: 'long', year: 'numeric' }).format(ms);

/** "12:03:27" today, "26 Oct, 12:03:27" when it is another day in that zone. */
export function moment(ms: number, zone: string, now: number): string {
  const time = clockSeconds(ms, zone);
  return dayMonth(ms, zone) === dayMonth(now, zone) ? time : `${dayMonth(ms, zone)}, ${time}`;
}

/** The zone this browser is in. */
export function ownZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
}

/** All zones the browser knows, by region, UTC first; `also` is in the list even when the browser does not know it. */
export function zonesByRegion(also: string): [region: string, zones: string[]][] {
  const regions = new Map<string, string[]>([['', ['UTC']]]);
  const names = new Set([...Intl.supportedValuesOf('timeZone'), also]);
  for (const name of [...names].sort()) {
    if (!name || name === 'UTC') continue;
    const region = name.includes('/') ? name.slice(0, name.indexOf('/')) : 'Other';
    regions.set(region, [...(regions.get(region) ?? []), name]);
  }
  return [...regions];
}
