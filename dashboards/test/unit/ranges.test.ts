import { describe, expect, it } from 'vitest';
import { bucketName, fillingAt, isRepeated, periods, rangeByID, ranges, ticks } from '../../src/lib/ranges';
import type { Row } from '../../src/lib/types';

const row = (start: string): Row => ({ key: start, start, visitors: 1, pageviews: 1, hits: 1, humans: 1, bots: 0, events: 0, clicks: 0 });
const hours = (from: string, n: number) => Array.from({ length: n }, (_, i) => row(new Date(Date.parse(from) + i * 3_600_000).toISOString()));

describe('the two equal hours of an autumn night', () => {
  const night = hours('2025-10-25T22:00:00Z', 25); // 26 October in Berlin
  it('are told apart by their offset, and no other hour is', () => {
    expect(bucketName(night, 2, 'hour', 'Europe/Berlin')).toBe('Sun 26 Oct, 02:00–03:00 (UTC+2)');
    expect(bucketName(night, 3, 'hour', 'Europe/Berlin')).toBe('Sun 26 Oct, 02:00–03:00 (UTC+1)');
    expect(bucketName(night, 4, 'hour', 'Europe/Berlin')).toBe('Sun 26 Oct, 03:00–04:00');
    expect(isRepeated(night, 2, 'Europe/Berlin')).toBe(true);
    expect(isRepeated(night, 1, 'Europe/Berlin')).toBe(false);
  });
  it('get one mark between them', () => {
    const labels = ticks(night, 'hour', 'Europe/Berlin', 40).map((tick) => tick.label);
    expect(labels).toHaveLength(24);
    expect(new Set(labels).size).toBe(24);
    expect(labels[0]).toBe('Sun 26 Oct');
  });
});

describe('marks under the graph', () => {
  it('stand on round hours and say the day at midnight', () => {
    const marks = ticks(hours('2026-03-01T10:00:00Z', 48), 'hour', 'UTC', 9);
    expect(marks.map((mark) => mark.label)).toEqual(['12:00', '18:00', 'Mon 2 Mar', '06:00', '12:00', '18:00', 'Tue 3 Mar', '06:00']);
    expect(marks.filter((mark) => mark.strong)).toHaveLength(2);
  });
  it('stand on hours of a half-hour zone as its buckets do', () => {
    const marks = ticks(hours('2026-03-01T18:30:00Z', 24), 'hour', 'Asia/Kolkata', 4);
    expect(marks.map((mark) => mark.label)).toEqual(['Mon 2 Mar', '06:00', '12:00', '18:00']);
  });
  it('skip the hour that a spring day does not have', () => {
    const day = hours('2026-03-28T23:00:00Z', 23);
    expect(ticks(day, 'hour', 'Europe/Berlin', 24).map((mark) => mark.label)).not.toContain('02:00');
  });
  it('stand on round minutes', () => {
    const minutes = Array.from({ length: 120 }, (_, i) => row(new Date(Date.parse('2026-03-01T10:07:00Z') + i * 60_000).toISOString()));
    expect(ticks(minutes, 'minute', 'Europe/Berlin', 5).map((mark) => mark.label)).toEqual(['11:30', '12:00', '12:30', '13:00']);
  });
  it('stand on Mondays for days', () => {
    const days = Array.from({ length: 31 }, (_, i) => row(`2026-03-${String(i + 1).padStart(2, '0')}T00:00:00Z`));
    expect(ticks(days, 'day', 'UTC', 8).map((mark) => mark.label)).toEqual(['2 Mar', '9 Mar', '16 Mar', '23 Mar', '30 Mar']);
    expect(ticks(days, 'day', 'UTC', 3).map((mark) => mark.label)).toEqual(['2 Mar', '16 Mar', '30 Mar']);
  });
  it('say the year in January', () => {
    const months = Array.from({ length: 12 }, (_, i) => row(new Date(Date.UTC(2025, 5 + i, 1)).toISOString()));
    const marks = ticks(months, 'month', 'UTC', 12);
    expect(marks.map((mark) => mark.label)).toEqual(['Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec', '2026', 'Feb', 'Mar', 'Apr', 'May']);
  });
  it('never exceed the room there is', () => {
    for (let room = 1; room < 30; room++) expect(ticks(hours('2026-03-01T10:00:00Z', 48), 'hour', 'UTC', room).length).toBeLessThanOrEqual(room);
  });
});

describe('names of buckets', () => {
  it('are of the zone of the site', () => {
    expect(bucketName([row('2026-03-01T23:00:00Z')], 0, 'day', 'Europe/Berlin')).toBe('Mon 2 Mar');
    expect(bucketName([row('2026-02-28T23:00:00Z')], 0, 'month', 'Europe/Berlin')).toBe('March 2026');
    expect(bucketName([row('2026-03-01T23:05:00Z')], 0, 'minute', 'Europe/Berlin')).toBe('Mon 2 Mar, 00:05');
  });
  it('are empty where there is no bucket', () => expect(bucketName([], 3, 'day', 'UTC')).toBe(''));
});

describe('ranges', () => {
  it('ask the server in its own words', () => {
    expect(rangeByID('2h')).toMatchObject({ ask: { last: '120m' }, every: 'minute' });
    expect(rangeByID('12mo')).toMatchObject({ ask: { last: '12mo' }, every: 'month' });
    expect(rangeByID('1y')).toBeUndefined();
  });
});

describe('the bucket being filled', () => {
  const day = hours('2026-03-01T00:00:00Z', 24);
  const at = (text: string) => fillingAt(day, '2026-03-02T00:00:00Z', Date.parse(text));
  it('is the one that now is in, with buckets ahead behind it', () => expect(at('2026-03-01T14:05:00Z')).toBe(14));
  it('is none when the range is over', () => expect(at('2026-03-02T00:00:00Z')).toBe(-1));
  it('is the first when a clock is behind', () => expect(at('2026-02-28T23:59:00Z')).toBe(0));
});

it('each range has a key and a name of its own', () => {
  const all = [...ranges, ...periods];
  expect(new Set(all.map((range) => range.key)).size).toBe(all.length);
  expect(new Set(all.map((range) => range.id)).size).toBe(all.length);
  expect(all.map((range) => range.key)).not.toContain('v');
  expect(all.map((range) => range.key)).not.toContain('c');
});
