import { describe, expect, it } from 'vitest';
import { count, exact, share, short } from '../../src/lib/format';

describe('short numbers', () => {
  it.each([
    [0, '0'],
    [999, '999'],
    [1000, '1k'],
    [1004, '1k'],
    [1234, '1.23k'],
    [9999, '9.99k'],
    [12_345, '12.3k'],
    [99_999, '99.9k'],
    [123_456, '123k'],
    [999_999, '999k'],
    [1_000_000, '1M'],
    [2_500_000, '2.5M'],
    [1_999_999_999, '1.99B'],
    [NaN, '–'],
  ])('%d is %s', (n, want) => expect(short(n)).toBe(want));

  it('never shows more than was counted', () => {
    for (let n = 1000; n < 3_000_000; n = Math.ceil(n * 1.0137)) {
      const shown = Number.parseFloat(short(n)) * (short(n).endsWith('M') ? 1e6 : 1e3);
      expect(shown).toBeLessThanOrEqual(n + 1e-6);
      expect(shown).toBeGreaterThan(n * 0.989);
    }
  });
});

describe('exact numbers and shares', () => {
  it('groups digits', () => expect(exact(1234567)).toBe('1,234,567'));
  it('says one and many', () => {
    expect(count(1, 'visitor')).toBe('1 visitor');
    expect(count(1200, 'country', 'countries')).toBe('1,200 countries');
  });
  it.each([
    [1, 3, '33.3%'],
    [3, 3, '100%'],
    [0, 3, '0%'],
    [1, 100_000, '<0.1%'],
    [1, 0, ''],
  ])('%d of %d is %s', (part, whole, want) => expect(share(part, whole)).toBe(want));
});
