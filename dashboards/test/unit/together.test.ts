import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Together } from '../../src/lib/together';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const shown: string[] = [];
const end = (together: Together, name: string) => void together.end().then(() => shown.push(name));
const settle = () => vi.advanceTimersByTimeAsync(0);

describe('answers that are shown together', () => {
  beforeEach(() => void (shown.length = 0));

  it('waits for the last one', async () => {
    const together = new Together();
    together.begin();
    together.begin();
    end(together, 'graph');
    await vi.advanceTimersByTimeAsync(300);
    expect(shown).toEqual([]);
    end(together, 'cards');
    await settle();
    expect(shown.sort()).toEqual(['cards', 'graph']);
    expect(together.tookMs).toBe(300);
  });

  it('does not wait for ever', async () => {
    const together = new Together(2_000);
    together.begin();
    together.begin();
    end(together, 'graph');
    await vi.advanceTimersByTimeAsync(1_999);
    expect(shown).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(shown).toEqual(['graph']);
    end(together, 'cards'); // late, and alone
    await settle();
    expect(shown).toEqual(['graph', 'cards']);
  });

  it('starts the next round anew', async () => {
    const together = new Together();
    for (const round of ['first', 'second']) {
      together.begin();
      end(together, round);
      await settle();
    }
    expect(shown).toEqual(['first', 'second']);
  });
});
