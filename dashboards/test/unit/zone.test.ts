// Times are those of the site. The tests run in a zone that no site here uses, so that a slip into the zone of the machine shows.
import { beforeAll, describe, expect, it } from 'vitest';
import { clock, clockSeconds, dateLocale, dayMonth, moment, offsetMinutes, offsetName, wall, zonesByRegion } from '../../src/lib/zone';

beforeAll(() => {
  process.env.TZ = 'Pacific/Honolulu';
});

const at = (text: string) => Date.parse(text);

describe('offsets', () => {
  it.each([
    ['2026-01-15T12:00:00Z', 'Europe/Berlin', 60, 'UTC+1'],
    ['2026-07-15T12:00:00Z', 'Europe/Berlin', 120, 'UTC+2'],
    ['2026-07-15T12:00:00Z', 'Asia/Kolkata', 330, 'UTC+5:30'],
    ['2026-07-15T12:00:00Z', 'Asia/Kathmandu', 345, 'UTC+5:45'],
    ['2026-01-15T12:00:00Z', 'America/St_Johns', -210, 'UTC−3:30'],
    ['2026-01-15T12:00:00Z', 'UTC', 0, 'UTC'],
  ])('%s in %s', (text, zone, minutes, name) => {
    expect(offsetMinutes(at(text), zone)).toBe(minutes);
    expect(offsetName(at(text), zone)).toBe(name);
  });
});

describe('clock and calendar', () => {
  it('shows midnight as 00 and not 24', () => expect(clock(at('2026-03-01T23:00:00Z'), 'Europe/Berlin')).toBe('00:00'));
  it('shows the half hour of a half-hour zone', () => expect(clock(at('2026-03-01T00:00:00Z'), 'Asia/Kolkata')).toBe('05:30'));
  it('goes from 01:59 to 03:00 in spring', () => {
    expect(clock(at('2026-03-29T00:59:00Z'), 'Europe/Berlin')).toBe('01:59');
    expect(clock(at('2026-03-29T01:00:00Z'), 'Europe/Berlin')).toBe('03:00');
  });
  it('goes through 02:00 twice in autumn', () => {
    expect(clock(at('2025-10-26T00:00:00Z'), 'Europe/Berlin')).toBe('02:00');
    expect(clock(at('2025-10-26T01:00:00Z'), 'Europe/Berlin')).toBe('02:00');
  });
  it('takes the day of the site', () => {
    expect(dayMonth(at('2026-03-01T23:30:00Z'), 'Europe/Berlin')).toBe('2 Mar');
    expect(wall(at('2026-03-01T23:30:00Z'), 'Europe/Berlin')).toMatchObject({ year: 2026, month: 3, day: 2, hour: 0, minute: 30, weekday: 'Mon' });
  });
  it('names the day only when it is another one', () => {
    const now = at('2026-03-02T10:00:00Z');
    expect(moment(at('2026-03-02T09:03:27Z'), 'Europe/Berlin', now)).toBe('10:03:27');
    expect(moment(at('2026-03-01T09:03:27Z'), 'Europe/Berlin', now)).toBe('1 Mar, 10:03:27');
    expect(clockSeconds(at('2026-03-01T09:03:27Z'), 'UTC')).toBe('09:03:27');
  });
  it('writes the month first only for American English', () => {
    expect(dateLocale('en-US')).toBe('en-US');
    expect(dateLocale('de-DE')).toBe('en-GB');
  });
});

describe('the list of zones', () => {
  it('has UTC first, regions after it, and a zone the browser does not know', () => {
    const regions = zonesByRegion('Mars/Olympus');
    expect(regions[0]).toEqual(['', ['UTC']]);
    expect(Object.fromEntries(regions).Europe).toContain('Europe/Berlin');
    expect(Object.fromEntries(regions).Mars).toEqual(['Mars/Olympus']);
  });
});
