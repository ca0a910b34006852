import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Pace } from '../../src/lib/pace';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('runs at once, then at most once per time, and never loses the last call', () => {
  let runs = 0;
  const pace = new Pace(() => runs++);
  pace.ask(1000);
  expect(runs).toBe(1);
  for (let i = 0; i < 9; i++) {
    pace.ask(1000);
    vi.advanceTimersByTime(100);
  }
  expect(runs).toBe(1);
  vi.advanceTimersByTime(100);
  expect(runs).toBe(2);
  vi.advanceTimersByTime(5000);
  expect(runs).toBe(2);
  pace.ask(1000);
  expect(runs).toBe(3);
  pace.ask(1000);
  pace.stop();
  vi.advanceTimersByTime(5000);
  expect(runs).toBe(3);
});

it('lets a shorter wait overtake a longer one', () => {
  let runs = 0;
  const pace = new Pace(() => runs++);
  pace.ask(0);
  pace.ask(10_000);
  pace.ask(1_000);
  vi.advanceTimersByTime(1_000);
  expect(runs).toBe(2);
  vi.advanceTimersByTime(8_000);
  expect(runs).toBe(2);
});
