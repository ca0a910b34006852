// What can be counted, in the order and words of the dashboard. The words are those of docs/interfaces.md, except that "hits" are people's:
// bots stand apart.
import type { Counts } from './types';

export interface Metric {
  id: keyof Counts;
  name: string;
  one: string;
  many: string;
  means: string;
  optional?: boolean; // not shown while it is zero
}

export const metrics: readonly Metric[] = [
  { id: 'visitors', name: 'Visitors', one: 'visitor', many: 'visitors', means: 'Different people, told apart without cookies within one day' },
  { id: 'humans', name: 'Hits', one: 'hit', many: 'hits', means: 'Page views, clicks, events and requests by people; bots are counted apart' },
  { id: 'pageviews', name: 'Page views', one: 'page view', many: 'page views', means: 'Pages shown to people' },
  { id: 'clicks', name: 'Clicks', one: 'click', many: 'clicks', means: 'People following a short link', optional: true },
  { id: 'events', name: 'Events', one: 'event', many: 'events', means: 'Custom events the site sends', optional: true },
];

/** The metrics worth showing for these counts: none that stays at zero without saying anything. */
export function metricsOf(counts: Counts | null): readonly Metric[] {
  return metrics.filter(({ id, optional }) => {
    if (id === 'pageviews') return !counts || counts.pageviews > 0 || counts.clicks === 0; // short links have no pages
    return !optional || (counts?.[id] ?? 0) > 0;
  });
}

export const bots: Metric = { id: 'bots', name: 'Bots', one: 'bot hit', many: 'bot hits', means: 'Hits by robots: counted apart, in none of the other figures' };

export const metricByID = (id: string | null | undefined): Metric | undefined => [...metrics, bots].find((metric) => metric.id === id);

/** All rows together. Right for counts; visitors of several buckets are more than the people behind them. */
export function sum(rows: readonly Counts[]): Counts {
  const all: Counts = { visitors: 0, pageviews: 0, hits: 0, humans: 0, bots: 0, events: 0, clicks: 0 };
  for (const row of rows) for (const id of Object.keys(all) as (keyof Counts)[]) all[id] += row[id];
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
