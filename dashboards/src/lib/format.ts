// Numbers and words as people read them. The page is in English, so numbers are too; the day comes before the month unless the browser
// asks for American English.

const exactFormat = new Intl.NumberFormat('en');

/** 1234567 -> "1,234,567" */
export const exact = (n: number): string => exactFormat.format(n);

/** At most three digits and a letter: 999, 1.23k, 12.3k, 123k, 1.23M. Cuts, never rounds up to a number that was not reached. */
export function short(n: number): string {
  if (!Number.isFinite(n)) return '–';
  if (Math.abs(n) < 1000) return exact(n);
  let unit = '';
  let size = n;
  for (const next of ['k', 'M', 'B', 'T']) {
    if (Math.abs(size) < 1000) break;
    size /= 1000;
    unit = next;
  }
  const digits = Math.abs(size) < 10 ? 2 : Math.abs(size) < 100 ? 1 : 0;
  const cut = Math.trunc(size * 10 ** digits + Math.sign(size) * 1e-9) / 10 ** digits;
  return `${cut}${unit}`;
}

/** A share of a whole: 0.1234 -> "12.3%". A whole of nothing has no shares. */
export function share(part: number, whole: number): string {
  if (whole <= 0) return '';
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 0.1) return '<0.1%';
  return `${percent >= 99.95 || percent === 0 ? Math.round(percent) : percent.toFixed(1)}%`;
}

/** Seconds as people say them: 8s, 1m 35s, 2h 5m. */
export function lasting(seconds: number): string {
  const s = Math.round(seconds);
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${s % 60}s`;
  return `${Math.floor(s / 3600)}h ${Math.floor((s % 3600) / 60)}m`;
}

export const count = (n: number, one: string, many = one + 's'): string => `${exact(n)} ${n === 1 ? one : many}`;
