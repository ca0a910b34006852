// The ranges of the dashboard and how their buckets are written under a graph and beside the pointer.
import type { Compare, Every, Row } from './types';
import { clock, dayMonth, month, monthYear, offsetName, wall, weekdayDay } from './zone';

export interface Range {
  id: string; // in the address
  ask: { last: string } | { period: string }; // of the server, which knows where its buckets begin
  every: Every;
  name: string;
  title: string; // within a sentence
  step: string;
  key: string; // on the keyboard
}

export const ranges: readonly Range[] = [
  { id: '2h', ask: { last: '120m' }, every: 'minute', name: '2 hours', title: 'last 2 hours', step: 'by minute', key: 'h' },
  { id: '48h', ask: { last: '48h' }, every: 'hour', name: '48 hours', title: 'last 48 hours', step: 'by hour', key: 'd' },
  { id: '31d', ask: { last: '31d' }, every: 'day', name: '31 days', title: 'last 31 days', step: 'by day', key: 'm' },
  { id: '12mo', ask: { last: '12mo' }, every: 'month', name: '12 months', title: 'last 12 months', step: 'by month', key: 'y' },
];

/** Ranges of the calendar, whole: today ends with the day. */
export const periods: readonly Range[] = [
  { id: 'hour', ask: { last: '60m' }, every: 'minute', name: 'Last hour', title: 'last hour', step: 'by minute', key: 'o' },
  { id: '24h', ask: { last: '24h' }, every: 'hour', name: 'Last 24 hours', title: 'last 24 hours', step: 'by hour', key: 'l' },
  { id: 'today', ask: { period: 'today' }, every: 'hour', name: 'Today', title: 'today', step: 'by hour', key: 't' },
  { id: 'yesterday', ask: { period: 'yesterday' }, every: 'hour', name: 'Yesterday', title: 'yesterday', step: 'by hour', key: 'e' },
  { id: 'week', ask: { period: 'week' }, every: 'day', name: 'This week', title: 'this week', step: 'by day', key: 'w' },
  { id: 'month', ask: { period: 'month' }, every: 'day', name: 'This month', title: 'this month', step: 'by day', key: 'n' },
  { id: 'last_month', ask: { period: 'last_month' }, every: 'day', name: 'Last month', title: 'last month', step: 'by day', key: 'b' },
  { id: 'year', ask: { period: 'year' }, every: 'month', name: 'This year', title: 'this year', step: 'by month', key: 'a' },
];

export const rangeByID = (id: string | null | undefined): Range | undefined => [...ranges, ...periods].find((range) => range.id === id);

/** With what a range is compared, in the words of the dashboard. */
export const comparisons: readonly { id: Compare | ''; name: string; title: string }[] = [
  { id: '', name: 'Nothing', title: '' },
  { id: 'previous', name: 'The time before', title: 'the time before' },
  { id: 'year', name: 'The year before', title: 'the year before' },
];

/** The bucket that is being filled; -1 when the last one is full. Those behind it lie ahead. */
export function fillingAt(rows: readonly Row[], to: string | null, now: number): number {
  if (to === null || Date.parse(to) <= now) return -1;
  for (let i = rows.length - 1; i > 0; i--) if (startOf(rows[i]!) <= now) return i;
  return 0;
}

export const startOf = (row: Row): number => Date.parse(row.start ?? row.key);

/** Whether two buckets of one series carry the same clock time: an hour that the clocks go through twice. */
export function isRepeated(rows: Row[], i: number, zone: string): boolean {
  const label = (row: Row) => dayMonth(startOf(row), zone) + clock(startOf(row), zone);
  const own = rows[i];
  if (!own) return false;
  return [rows[i - 1], rows[i + 1]].some((other) => other !== undefined && label(other) === label(own));
}

/** The bucket in full: "Sun 26 Oct, 02:00–03:00 (UTC+2)". */
export function bucketName(rows: Row[], i: number, every: Every, zone: string): string {
  const row = rows[i];
  if (!row) return '';
  const ms = startOf(row);
  switch (every) {
    case 'minute':
      return `${weekdayDay(ms, zone)}, ${clock(ms, zone)}`;
    case 'hour': {
      // By the clock on the wall: an hour that is gone through twice ends at 03:00 both times.
      const until = clock(ms, zone).replace(/^\d+/, (hour) => String((Number(hour) + 1) % 24).padStart(2, '0'));
      const which = isRepeated(rows, i, zone) ? ` (${offsetName(ms, zone)})` : '';
      return `${weekdayDay(ms, zone)}, ${clock(ms, zone)}–${until}${which}`;
    }
    case 'day':
      return weekdayDay(ms, zone);
    case 'month':
      return monthYear(ms, zone);
  }
}

export interface Tick {
  index: number;
  label: string;
  strong: boolean; // begins a day or a year
}

const hourSteps = [1, 2, 3, 6, 12, 24];
const minuteSteps = [5, 10, 15, 30, 60];
const daySteps = [1, 2, 7, 14]; // weeks begin on Monday
const monthSteps = [1, 2, 3, 6];

/** The marks under a graph that has room for `room` labels: on round clock times, not on every nth bucket, so they stay put as time moves. */
export function ticks(rows: Row[], every: Every, zone: string, room: number): Tick[] {
  const walls = rows.map((row) => wall(startOf(row), zone));
  const pick = (steps: number[], on: (i: number, step: number) => boolean): number[] => {
    for (const step of steps) {
      const found = walls.flatMap((_, i) => (on(i, step) ? [i] : []));
      if (found.length <= room) return found;
    }
    return [];
  };
  const at = (i: number) => startOf(rows[i]!);
  switch (every) {
    case 'minute':
      return pick(minuteSteps, (i, step) => walls[i]!.minute % step === 0).map((index) => {
        const midnight = walls[index]!.hour === 0 && walls[index]!.minute === 0;
        return { index, label: midnight ? weekdayDay(at(index), zone) : clock(at(index), zone), strong: midnight };
      });
    case 'hour':
      return pick(hourSteps, (i, step) => {
        // The second of two equal hours gets no mark of its own.
        const again = i > 0 && walls[i - 1]!.hour === walls[i]!.hour;
        return walls[i]!.hour % step === 0 && !again;
      }).map((index) => {
        const midnight = walls[index]!.hour === 0;
        return { index, label: midnight ? weekdayDay(at(index), zone) : clock(at(index), zone), strong: midnight };
      });
    case 'day':
      return pick(daySteps, (i, step) => (step < 7 ? (rows.length - 1 - i) % step === 0 : walls[i]!.weekday === 'Mon' && i % step < 7)).map((index) => ({
        index,
        label: dayMonth(at(index), zone),
        strong: walls[index]!.day === 1,
      }));
    case 'month':
      return pick(monthSteps, (i, step) => (rows.length - 1 - i) % step === 0).map((index) => {
        const january = walls[index]!.month === 1;
        return { index, label: january ? String(walls[index]!.year) : month(at(index), zone), strong: january };
      });
  }
}
