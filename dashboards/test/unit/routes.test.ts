import { describe, expect, it } from 'vitest';
import { match, safeNext, sitePath } from '../../src/lib/routes';

describe('addresses', () => {
  it.each([
    ['/', { page: 'sites' }],
    ['/setup', { page: 'setup' }],
    ['/login', { page: 'login' }],
    ['/settings/', { page: 'settings' }],
    ['/s/example.com', { page: 'site', site: 'example.com', link: '' }],
    ['/s/example.com/l/spring', { page: 'site', site: 'example.com', link: 'spring' }],
    ['/s/example.com/l/docs%2Fv2', { page: 'site', site: 'example.com', link: 'docs/v2' }],
    ['/s/example.com/l/docs/v2', { page: 'site', site: 'example.com', link: 'docs/v2' }],
    ['/s/example.com/l', { page: 'lost' }],
    ['/s/', { page: 'lost' }],
    ['/s/%E0%A4%A', { page: 'site', site: '%E0%A4%A', link: '' }],
    ['/nowhere', { page: 'lost' }],
  ])('%s', (path, want) => expect(match(path)).toEqual(want));

  it('of sites and links come back as they were', () => {
    for (const link of ['', 'a/b', 'a b?c#d', '100%', 'ü', '..']) {
      expect(match(sitePath('example.com', link))).toEqual({ page: 'site', site: 'example.com', link });
    }
  });
});

describe('the page after log-in', () => {
  it.each([
    ['/s/example.com?range=2h', '/s/example.com?range=2h'],
    ['//evil.example', '/'],
    ['/\\evil.example', '/'],
    ['https://evil.example', '/'],
    ['javascript:alert(1)', '/'],
    [null, '/'],
  ])('%s leads to %s', (next, want) => expect(safeNext(next)).toBe(want));
});
