import { describe, expect, it } from 'vitest';
import { sentence } from '../../src/lib/api';

describe('what the API says, on a page', () => {
  it('leaves out the name of the field and begins with a capital', () => {
    expect(sentence('site: "a b" is no host name', 'site')).toBe('"a b" is no host name');
    expect(sentence('e-mail address or password is wrong')).toBe('E-mail address or password is wrong');
    expect(sentence('every is "weekly"', 'every')).toBe('Every is "weekly"');
    expect(sentence('')).toBe('');
  });
});
