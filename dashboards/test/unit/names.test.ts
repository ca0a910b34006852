import { describe, expect, it } from 'vitest';
import { countryName, flag, isBlank, keyName, outside } from '../../src/lib/names';
import { metricsOf, sum, visitorsNote } from '../../src/lib/metrics';
import { clicks, isPrivateHost, pixel, script, siteName } from '../../src/lib/snippet';

describe('countries', () => {
  it.each([
    ['DE', 'Germany', '🇩🇪'],
    ['XK', 'Kosovo', '🇽🇰'],
    ['??', 'Unknown', ''],
    ['', 'Unknown', ''],
    ['ZQ', 'ZQ', ''],
    ['T1', 'Tor', ''],
    ['<b>', '<b>', ''],
  ])('%s is %s', (code, name, emoji) => {
    expect(countryName(code)).toBe(name);
    expect(flag(code)).toBe(emoji);
  });
});

describe('rows that say that something is not known', () => {
  it('are shown by name', () => {
    expect(keyName('referrer', '(direct)')).toBe('Direct / None');
    expect(keyName('referrer', '(internal)')).toBe('Within the site');
    expect(keyName('browser', '(unknown)')).toBe('Unknown');
    expect(keyName('device', 'mobile')).toBe('Mobile');
    expect(keyName('page', '/a')).toBe('/a');
    expect(['(direct)', '(unknown)', '??', ''].every(isBlank)).toBe(true);
    expect(isBlank('/(')).toBe(false);
  });
});

describe('ways outside', () => {
  it('are always http addresses of a page or a referrer', () => {
    expect(outside('page', '/a b?q=<x>', 'example.com')).toBe('https://example.com/a%20b?q=%3Cx%3E');
    expect(outside('page', '//evil.example/x', 'example.com')).toBe('https://example.com/evil.example/x');
    expect(outside('page', 'javascript:alert(1)', 'example.com')).toBe('');
    expect(outside('referrer', 'news.example.org', 'example.com')).toBe('https://news.example.org');
    expect(outside('referrer', 'javascript:alert(1)', 'example.com')).toBe('');
    expect(outside('referrer', '(direct)', 'example.com')).toBe('');
    expect(outside('browser', 'Firefox', 'example.com')).toBe('');
  });
});

describe('the lines to paste', () => {
  it('name the site and the server', () => {
    expect(script('example.com', 'https://weir.example')).toBe('<script defer data-site="example.com" src="https://weir.example/js/weir.js"></script>');
    expect(script('a"><script>', 'https://w')).not.toContain('"><script>');
    expect(script('a.example', 'https://w', ['404', 'outbound-links'])).toContain('src="https://w/js/weir.outbound-links.404.js"');
    expect(pixel('a b', 'https://w')).toContain('a%20b');
    expect(clicks('go.example', 'https://w')).toContain('https://w/api/clicks');
  });
  it.each([
    ['https://www.Example.com/path?x#y', 'example.com'],
    ['  example.com. ', 'example.com'],
    ['www.com', 'www.com'],
    ['localhost:3000', 'localhost:3000'],
    ['http://user@host.example', 'host.example'],
  ])('what is typed as %s is the site %s', (typed, want) => expect(siteName(typed)).toBe(want));
  it.each([
    ['localhost', true],
    ['127.0.0.1', true],
    ['192.168.1.9', true],
    ['172.20.0.1', true],
    ['[::1]', true],
    ['weir.local', true],
    ['172.32.0.1', false],
    ['weir.example.com', false],
    ['10.example.com', false],
  ])('%s is private: %s', (host, want) => expect(isPrivateHost(host)).toBe(want));
});

describe('figures', () => {
  const none = { visitors: 0, pageviews: 0, hits: 0, humans: 0, bots: 0, events: 0, clicks: 0 };
  const shown = (counts: Partial<typeof none>) => metricsOf({ ...none, ...counts }).map((metric) => metric.id);
  it('leave out what a site does not have', () => {
    expect(shown({ pageviews: 3 })).toEqual(['visitors', 'humans', 'pageviews']);
    expect(shown({ clicks: 3 })).toEqual(['visitors', 'humans', 'clicks']);
    expect(shown({})).toEqual(['visitors', 'humans', 'pageviews']);
    expect(shown({ clicks: 1, pageviews: 1, events: 1 })).toHaveLength(5);
  });
  it('add up', () => expect(sum([{ ...none, hits: 2, bots: 1 }, { ...none, hits: 3 }])).toMatchObject({ ...none, hits: 5, bots: 1 }));
  it('say when visitors are a sum of days or an estimate', () => {
    expect(visitorsNote('sum of daily')).not.toBe('');
    expect(visitorsNote('union')).not.toBe('');
    expect(visitorsNote('exact')).toBe('');
  });
});
