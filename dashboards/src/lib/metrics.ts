// What can be counted, in the order and words of the dashboard. The words are those of docs/interfaces.md, except that "hits" are people's:
// bots stand apart.
import { exact, lasting, short } from './format';
import type { Counts } from './types';

type Count = 'visitors' | 'pageviews' | 'humans' | 'bots' | 'events' | 'clicks' | 'visits';

export interface Metric {
  id: Count | 'views_per_visit' | 'bounce_rate' | 'visit_seconds' | 'engaged_seconds' | 'scroll_depth';
  name: string;
  one: string;
  many: string;
  means: string;
  optional?: boolean; // not shown while it is zero
  form?: 'percent' | 'seconds' | 'tenths'; // of its values; absent: a count
  less?: boolean; // the less the better
}

export const metrics: readonly Metric[] = [
  { id: 'visitors', name: 'Visitors', one: 'visitor', many: 'visitors', means: 'Different people, told apart without cookies within one day' },
  { id: 'visits', name: 'Visits', one: 'visit', many: 'visits', means: 'Runs of page views, events and clicks of one visitor, with less than half an hour between', optional: true },
  { id: 'humans', name: 'Hits', one: 'hit', many: 'hits', means: 'Page views, clicks, events and requests by people; bots are counted apart' },
  { id: 'pageviews', name: 'Page views', one: 'page view', many: 'page views', means: 'Pages shown to people' },
  { id: 'clicks', name: 'Clicks', one: 'click', many: 'clicks', means: 'People following a short link', optional: true },
  { id: 'events', name: 'Events', one: 'event', many: 'events', means: 'Custom events the site sends', optional: true },
  { id: 'views_per_visit', name: 'Views a visit', one: 'view a visit', many: 'views a visit', means: 'Page views over visits', optional: true, form: 'tenths' },
  { id: 'bounce_rate', name: 'Bounce rate', one: 'bounce rate', many: 'bounce rate', means: 'Visits of one page view, in which nothing else was done', optional: true, form: 'percent', less: true },
  { id: 'visit_seconds', name: 'Visit length', one: 'a visit', many: 'a visit', means: 'From the first to the last sign of a visit, on average; bounces included', optional: true, form: 'seconds' },
  { id: 'engaged_seconds', name: 'Engaged', one: 'engaged a visit', many: 'engaged a visit', means: 'Time that pages were seen and had the keyboard, per visit', optional: true, form: 'seconds' },
  { id: 'scroll_depth', name: 'Scroll depth', one: 'scrolled', many: 'scrolled', means: 'How far down page views were scrolled, on average', optional: true, form: 'percent' },
];

const over = (sum: number | undefined, n: number | undefined): number | null => (n ? (sum ?? 0) / n : null);

/** The value of a metric for some counts; null where it is an average of nothing. Shares are in percent, times in seconds. */
export function valueOf(metric: Metric, counts: Counts): number | null {
  const percent = (v: number | null) => (v === null ? null : 100 * v);
  const seconds = (v: number | null) => (v === null ? null : v / 1000);
  switch (metric.id) {
    case 'views_per_visit':
      return over(counts.pageviews, counts.visits);
    case 'bounce_rate':
      return percent(over(counts.bounces, counts.visits));
    case 'visit_seconds':
      return seconds(over(counts.duration_ms, counts.visits));
    case 'engaged_seconds':
      return counts.engaged_ms ? seconds(over(counts.engaged_ms, counts.visits)) : null;
    case 'scroll_depth':
      return over(counts.scroll_sum, counts.scroll_views);
    default:
      return counts[metric.id] ?? 0;
  }
}

/** A value of a metric as it is written: shortly, or to the last digit. */
export function written(metric: Metric, value: number | null, how: typeof short = exact): string {
  if (value === null) return '–';
  switch (metric.form) {
    case 'percent':
      return `${Math.round(value)}%`;
    case 'seconds':
      return lasting(value);
    case 'tenths':
      return value.toFixed(1);
    default:
      return how(value);
  }
}

/** How a value differs from one before: "+12%"; of shares in points. Empty where there is nothing to compare. */
export function change(metric: Metric, now: number | null, before: number | null): string {
  if (now === null || before === null || (before === 0 && metric.form !== 'percent')) return '';
  const by = metric.form === 'percent' ? now - before : (100 * (now - before)) / before;
  const whole = Math.round(by);
  const sign = whole > 0 ? '+' : whole < 0 ? '−' : '±';
  return `${sign}${exact(Math.abs(whole))}${metric.form === 'percent' ? ' pts' : '%'}`;
}

/** The metrics worth showing for these counts: none that stays at zero without saying anything. */
export function metricsOf(counts: Counts | null): readonly Metric[] {
  return metrics.filter((metric) => {
    if (metric.id === 'pageviews') return !counts || counts.pageviews > 0 || counts.clicks === 0; // short links have no pages
    if (metric.id === 'views_per_visit' && !counts?.pageviews) return false;
    return !metric.optional || (counts !== null && (metric.id === 'bounce_rate' ? valueOf(metric, counts) !== null : (valueOf(metric, counts) ?? 0) > 0));
  });
}

export const bots: Metric = { id: 'bots', name: 'Bots', one: 'bot hit', many: 'bot hits', means: 'Hits by robots: counted apart, in none of the other figures' };

export const metricByID = (id: string | null | undefined): Metric | undefined => [...metrics, bots].find((metric) => metric.id === id);

/** All rows together. Right for counts; visitors of several buckets are more than the people behind them. */
export function sum(rows: readonly Counts[]): Counts {
  const all: Required<Counts> = { visitors: 0, pageviews: 0, hits: 0, humans: 0, bots: 0, events: 0, clicks: 0, visits: 0, bounces: 0, duration_ms: 0, engaged_ms: 0, scroll_sum: 0, scroll_views: 0 };
  for (const row of rows) for (const id of Object.keys(all) as (keyof Counts)[]) all[id] += row[id] ?? 0;
  return all;
}

/** What a metric of a range means when it is not a plain count. */
export function visitorsNote(visitorsAre: string): string {
  switch (visitorsAre) {
    case 'sum of daily':
      return 'sum of daily visitors';
    case 'union':
      return 'within about 1%';
    default:
      return '';
  }
}
