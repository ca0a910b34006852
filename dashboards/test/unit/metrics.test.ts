import { describe, expect, it } from 'vitest';
import { change, metricByID, metricsOf, sum, valueOf, written } from '../../src/lib/metrics';
import type { Counts } from '../../src/lib/types';

const counts = (of: Partial<Counts>): Counts => ({ visitors: 0, pageviews: 0, hits: 0, humans: 0, bots: 0, events: 0, clicks: 0, ...of });
const metric = (id: string) => metricByID(id)!;

describe('averages', () => {
  const rows = [counts({ pageviews: 6, visits: 3, bounces: 1, duration_ms: 285_000, scroll_sum: 140, scroll_views: 2 }), counts({ pageviews: 1, visits: 1, bounces: 1, engaged_ms: 8_000 })];
  it('are made of sums, not of averages', () => {
    const all = sum(rows);
    const shown = ['visits', 'views_per_visit', 'bounce_rate', 'visit_seconds', 'engaged_seconds', 'scroll_depth'].map((id) => written(metric(id), valueOf(metric(id), all)));
    expect(shown).toEqual(['4', '1.8', '50%', '1m 11s', '2s', '70%']);
  });
  it('of nothing are nothing, and are not shown', () => {
    const none = counts({ hits: 3, humans: 3, pageviews: 3 });
    expect(written(metric('bounce_rate'), valueOf(metric('bounce_rate'), none))).toBe('–');
    expect(metricsOf(none).map((one) => one.id)).toEqual(['visitors', 'humans', 'pageviews']);
  });
  it('are shown where there are visits, a bounce rate of nothing too', () => {
    expect(metricsOf(counts({ pageviews: 2, visits: 1 })).map((one) => one.id)).toContain('bounce_rate');
  });
});

describe('changes', () => {
  it.each([
    ['visitors', 30, 20, '+50%'],
    ['visitors', 20, 30, '−33%'],
    ['visitors', 20, 20, '±0%'],
    ['visitors', 20, 0, ''],
    ['bounce_rate', 45, 40, '+5 pts'],
    ['bounce_rate', 45, null, ''],
  ])('of %s from %s before %s', (id, now, before, want) => expect(change(metric(id), now, before)).toBe(want));
});
