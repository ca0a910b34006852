// A weir without weir: the HTTP API of docs/interfaces.md with made-up traffic, for work on the front end and as the double in its tests.
// `npm run mock` (port 8099, or MOCK_PORT; MOCK_FRESH=1 starts before set-up, with the token "mock-token"). E-mail ada@example.com, password "a long password".
//
// POST /mock {"away": true} makes it refuse everything, {"expire": true} ends all sessions, {"silent": true} closes streams.
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { breakdown, buckets, chance, made, rfc3339 } from './traffic.mjs';

const dist = fileURLToPath(new URL('../dist', import.meta.url));
const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.woff2': 'font/woff2', '.txt': 'text/plain; charset=utf-8' };
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const year = 365 * 86_400_000;

export function createMock({ fresh = false } = {}) {
  const now = Date.now();
  const state = {
    users: fresh ? [] : [person('ada@example.com', 'admin'), person('bob@example.com', 'viewer')],
    passwords: fresh ? {} : { 'ada@example.com': 'a long password' },
    tokens: fresh ? [] : [{ id: 1, name: 'grafana', scopes: ['stats'], created_at: new Date(now - 40 * 86_400_000).toISOString() }],
    sites: fresh
      ? []
      : [
          site(1, 'example.com', 'Europe/Berlin', { perHour: 620, since: now - year }),
          site(2, 'go.example', 'Asia/Kolkata', { perHour: 240, since: now - year / 2, links: true }),
          site(3, 'shop.example', 'America/New_York', { perHour: 75, since: now - 40 * 86_400_000 }),
          site(4, 'notes.example', 'UTC', { perHour: 4, since: now - year }),
          site(5, 'new.example', 'Europe/Berlin', {}),
        ],
    sessions: new Set(),
    links: [],
    posted: [], // {site, at, kind, visitor}
    streams: new Set(),
    away: false,
  };

  function person(email, role) {
    return { email, role, created_at: new Date(now - 90 * 86_400_000).toISOString() };
  }
  function site(id, name, timezone, more) {
    return { id, name, timezone, created_at: new Date(now).toISOString(), perHour: 0, since: now, ...more };
  }
  const find = (name) => state.sites.find((one) => one.name === name.toLowerCase().replace(/^www\./, ''));
  const add = (sum, more) => {
    for (const key of Object.keys(sum)) sum[key] += more[key];
    return sum;
  };
  const zeros = () => ({ visitors: 0, pageviews: 0, hits: 0, humans: 0, bots: 0, events: 0, clicks: 0 });

  function posted(of, from, to, only = () => true) {
    const hits = state.posted.filter((hit) => hit.site === of.name && hit.at >= from && hit.at < to && only(hit));
    const people = hits.filter((hit) => !hit.bot);
    return {
      ...zeros(),
      visitors: new Set(people.map((hit) => hit.visitor)).size,
      pageviews: people.filter((hit) => hit.kind === 'pageview').length,
      events: people.filter((hit) => hit.kind === 'event').length,
      clicks: people.filter((hit) => hit.kind === 'click').length,
      humans: people.length,
      bots: hits.length - people.length,
      hits: hits.length,
    };
  }
  const counted = (of, from, to) => add(made(of, from, to), posted(of, from, to));
  const firstHit = (of) => of.perHour > 0 || state.posted.some((hit) => hit.site === of.name);

  function nowOf(of) {
    const at = Date.now();
    const wobble = of.perHour ? Math.floor(chance(of.name, Math.floor(at / 2000)) * 4) : 0;
    const [five, one, half] = [5, 1, 30].map((minutes) => counted(of, at - minutes * 60_000, at + 1000));
    return {
      visitors_5m: five.visitors + wobble,
      hits_1m: one.humans + wobble,
      visitors_30m: half.visitors + wobble,
      hits_30m: half.humans + wobble,
      complete_to: new Date(at - 150).toISOString(),
      first_hit: firstHit(of),
    };
  }
  const shown = (of) => ({ id: of.id, name: of.name, timezone: of.timezone, created_at: of.created_at, visitors_now: nowOf(of).visitors_5m, hits_30m: nowOf(of).hits_30m, first_hit: firstHit(of), ...(of.rules ? { rules: of.rules } : {}) });

  function counts(of, query) {
    const periods = { today: '24h', yesterday: '24h', week: '7d', last_week: '7d', month: '31d', last_month: '31d', year: '12mo', last_year: '12mo' };
    const last = /^(\d+)(m|h|d|mo)$/.exec(periods[query.get('period')] ?? query.get('last') ?? '');
    if (!last) throw refuse(400, 'invalid', 'the mock wants last or period', 'last');
    const every = { m: 'minute', h: 'hour', d: 'day', mo: 'month' }[last[2]];
    const at = Date.now();
    const starts = buckets(every, Number(last[1]), of.timezone, at);
    const link = query.get('link');
    const part = (sum) => (link && of.perHour ? scale(sum, (breakdown('link', { ...zeros(), humans: 1000 }, of).find((row) => row.key === link)?.humans ?? 0) / 1000) : sum);
    const within = (from, to) => (link && !of.perHour ? posted(of, from, to, (hit) => hit.link === link) : part(counted(of, from, to)));
    const total = () => within(starts[0], at + 1000);
    const by = query.get('by') ?? '';
    let rows;
    if (by) {
      rows = by === 'link' && !of.links ? [] : breakdown(by, total(), of);
      if (!of.perHour) rows = postedBy(of, by, starts[0], at + 1000, link);
      rows = rows.filter((row) => row.hits > 0).sort((a, b) => b.visitors - a.visitors || b.hits - a.hits || (a.key < b.key ? -1 : 1));
    } else if (query.get('every')) {
      rows = starts.map((start, i) => ({ key: rfc3339(start, of.timezone), start: rfc3339(start, of.timezone), ...within(start, starts[i + 1] ?? at + 1000) }));
    } else {
      rows = [{ key: '', ...total() }];
    }
    if (by === 'entry' || by === 'exit') rows = breakdown('page', total(), of);
    if (of.perHour && by !== 'page') rows = rows.map(visited);
    if (by === 'entry' || by === 'exit') rows = rows.map((row) => ({ ...row, ...zeros() }));
    const limit = Number(query.get('limit') ?? 1000);
    const before = query.get('compare') && { with: query.get('compare'), from: rfc3339(starts[0], of.timezone), to: rfc3339(at, of.timezone), visitors_are: 'exact', rows: rows.map((row, i) => ({ ...row, ...scale(numbers(row), 0.7 + 0.1 * (i % 4)) })) };
    return {
      ...(before ? { compare: before } : {}),
      site: of.name,
      timezone: of.timezone,
      from: rfc3339(starts[0], of.timezone),
      to: rfc3339(at, of.timezone),
      by,
      every: query.get('every') ?? '',
      link: link ?? '',
      complete_to: new Date(at - 150).toISOString(),
      visitors_are: every === 'day' || every === 'month' ? 'sum of daily' : 'exact',
      truncated: rows.length > limit,
      rows: rows.slice(0, limit),
    };
  }
  // What was really posted, by the parts of it that the mock understands.
  function postedBy(of, by, from, to, link) {
    const keyOf = { page: (hit) => hit.page, link: (hit) => hit.link, referrer: (hit) => hit.referrer ?? '(direct)', country: () => '??' }[by] ?? (() => '(unknown)');
    const mine = (hit) => !link || hit.link === link;
    const keys = new Set(state.posted.filter((hit) => hit.site === of.name && mine(hit)).map(keyOf).filter((key) => key !== undefined));
    return [...keys].map((key) => ({ key, ...posted(of, from, to, (hit) => mine(hit) && keyOf(hit) === key && (by !== 'page' || hit.kind === 'pageview')) }));
  }
  const numbers = (row) => Object.fromEntries(Object.entries(row).filter(([, value]) => typeof value === 'number'));
  const visited = (row) => {
    const visits = Math.round(row.visitors * 1.2);
    return { ...row, visits, bounces: Math.round(visits * 0.42), duration_ms: visits * 95_000, engaged_ms: visits * 48_000, scroll_sum: row.pageviews * 61, scroll_views: row.pageviews };
  };
  const scale = (sum, share) => Object.fromEntries(Object.entries(sum).map(([key, n]) => [key, Math.round(n * share)]));

  class Refusal extends Error {}
  function refuse(status, code, message, field) {
    return Object.assign(new Refusal(message), { status, body: { error: { code, message, ...(field ? { field } : {}) } } });
  }

  const me = (request) => state.users.find((user) => user.email === sessionOf(request)?.email);
  const sessionOf = (request) => [...state.sessions].find((one) => (request.headers.cookie ?? '').includes(`weir_session=${one.id}`));
  function begin(response, email) {
    const id = `${email.length}${Math.floor(chance(email, Date.now()) * 1e9)}`;
    state.sessions.add({ id, email });
    response.setHeader('Set-Cookie', `weir_session=${id}; Path=/; HttpOnly; SameSite=Lax`);
  }

  async function api(request, response, url, body) {
    const path = url.pathname.replace('/api/v1', '').split('/').filter(Boolean).map(decodeURIComponent);
    const on = (method, ...parts) => request.method === method && parts.length === path.length && parts.every((part, i) => part === '*' || part === path[i]);
    if (request.method !== 'GET' && request.headers['x-weir-request'] !== '1') throw refuse(403, 'csrf', 'the header X-Weir-Request: 1 is missing');
    const valid = (password) => {
      if ((password ?? '').length < 8) throw refuse(400, 'invalid', 'password has fewer than 8 bytes', 'password');
    };

    if (on('GET', 'setup')) return { needed: state.users.length === 0 };
    if (on('POST', 'setup')) {
      if (state.users.length) throw refuse(409, 'exists', 'weir is set up already');
      if (body.token !== 'mock-token') throw refuse(403, 'setup_token', 'this set-up link is not valid any more; the log of the running node shows the one that is');
      valid(body.password);
      if (!/^[a-z0-9.-]+$/.test(body.site)) throw refuse(400, 'invalid', `${JSON.stringify(body.site)} is not a host name`, 'site');
      state.users.push(person(body.email, 'admin'));
      state.passwords[body.email] = body.password;
      state.sites.push(site(1, body.site, body.timezone, {}));
      begin(response, body.email);
      response.statusCode = 201;
      return { email: body.email, role: 'admin', site: shown(state.sites[0]) };
    }
    if (on('POST', 'login')) {
      if (!state.passwords[body.email] || state.passwords[body.email] !== body.password) throw refuse(401, 'wrong_password', 'e-mail address or password is wrong');
      begin(response, body.email);
      return { email: body.email, role: state.users.find((user) => user.email === body.email).role };
    }
    if (on('GET', 'attribution')) return { attribution: [{ text: 'IP Geolocation by DB-IP', url: 'https://db-ip.com', licence: 'CC BY 4.0' }] };
    if (!me(request)) throw refuse(401, 'unauthenticated', 'log in, or send a token');
    if (on('POST', 'logout')) return void state.sessions.delete(sessionOf(request));
    if (on('GET', 'me')) return { email: me(request).email, role: me(request).role };
    if (on('POST', 'me', 'password')) {
      if (state.passwords[me(request).email] !== body.old) throw refuse(401, 'wrong_password', 'the old password is wrong');
      valid(body.new);
      return void (state.passwords[me(request).email] = body.new);
    }
    if (on('GET', 'sites')) return { sites: state.sites.map(shown) };
    if (on('POST', 'sites')) {
      if (find(body.name)) throw refuse(409, 'exists', `there is a site ${body.name} already`, 'name');
      if (!/^[a-z0-9.-]+$/.test(body.name)) throw refuse(400, 'invalid', `${JSON.stringify(body.name)} is not a host name`, 'name');
      state.sites.push(site(state.sites.length + 1, body.name, body.timezone, {}));
      response.statusCode = 201;
      return shown(state.sites.at(-1));
    }
    if (path[0] === 'sites' && path[1]) {
      const of = find(path[1]);
      if (!of) throw refuse(404, 'not_found', `there is no site ${path[1]}`);
      if (on('GET', 'sites', '*')) return shown(of);
      if (on('PATCH', 'sites', '*')) {
        const odd = body.rules?.addresses?.find((address) => !/^[0-9a-f.:]+(\/\d+)?$/.test(address));
        if (odd) throw refuse(400, 'invalid', `${JSON.stringify(odd)} is neither an address nor a network`, 'addresses');
        of.timezone = body.timezone ?? of.timezone;
        of.rules = body.rules ?? of.rules;
        return shown(of);
      }
      if (on('POST', 'sites', '*', 'links')) {
        const links = body.links.map((one) => ({ ...one, id: one.domain ? `${one.domain}/${one.slug}` : one.slug, site: of.name, created_at: new Date().toISOString() }));
        const taken = links.find((one) => state.links.some((other) => other.id === one.id));
        if (taken) throw refuse(409, 'exists', `there is a link ${taken.id} already`);
        state.links.push(...links);
        response.statusCode = 201;
        return { links };
      }
      if (on('DELETE', 'sites', '*')) return void state.sites.splice(state.sites.indexOf(of), 1);
      if (on('GET', 'sites', '*', 'counts')) return counts(of, url.searchParams);
      if (on('GET', 'sites', '*', 'now')) return nowOf(of);
      if (on('GET', 'sites', '*', 'refused')) {
        const rows = of.perHour > 0 ? [{ reason: 'future', count: 1317 }, { reason: 'rate', count: 42 }, { reason: 'invalid', count: 3 }] : [];
        return { site: of.name, timezone: of.timezone, from: null, to: null, since: null, rows, no_site: state.unknown ? [{ reason: 'unknown-site', count: state.unknown }] : [] };
      }
      if (on('GET', 'sites', '*', 'live')) return stream(response, of);
    }
    if (on('GET', 'links')) return { links: state.links.filter((one) => one.site === url.searchParams.get('site')) };
    if (on('DELETE', 'links', '*')) return void (state.links = state.links.filter((one) => one.slug !== path[1] || one.domain !== url.searchParams.get('domain')));
    if (on('GET', 'users')) return { users: state.users };
    if (on('POST', 'users')) {
      valid(body.password);
      if (state.passwords[body.email]) throw refuse(409, 'exists', `${body.email} is a user already`, 'email');
      state.users.push(person(body.email, body.role));
      state.passwords[body.email] = body.password;
      response.statusCode = 201;
      return state.users.at(-1);
    }
    if (on('PUT', 'users', '*', 'password')) return valid(body.password), void (state.passwords[path[1]] = body.password);
    if (on('DELETE', 'users', '*')) return void (state.users = state.users.filter((user) => user.email !== path[1]));
    if (on('GET', 'tokens')) return { tokens: state.tokens };
    if (on('POST', 'tokens')) {
      const token = { id: state.tokens.length + 1, name: body.name, scopes: body.scopes, created_at: new Date().toISOString() };
      state.tokens.push(token);
      response.statusCode = 201;
      return { ...token, token: 'weir_5kQb2mYx0TzJr8cVhNnW3sGfPaLd7uEi' };
    }
    if (on('DELETE', 'tokens', '*')) return void (state.tokens = state.tokens.filter((token) => String(token.id) !== path[1]));
    if (on('GET', 'status')) {
      return { version: '0.1.0', commit: 'abc1234', started_at: new Date(now).toISOString(), node_id: 1, cluster_id: 'c', geoip: { source: 'built-in DB-IP Country Lite', built: '2026-02-01T00:00:00Z' }, data_dir: '/var/lib/weir', listeners: { http: '[::]:8080', kafka: '127.0.0.1:9092' } };
    }
    if (on('POST', 'sites', '*', 'diagnose')) {
      const proxied = body.headers?.['X-Forwarded-For'];
      const traffic = { requests: 1200, connection: 1190, headers: 0, unreadable: 10, inside: 1190, hits: 1204, no_country: 1204 };
      return {
        peer: body.peer ?? '172.18.0.1', address: body.peer ?? '172.18.0.1', header: '', headers: {}, trusted: ['127.0.0.0/8', '::1/128'], trusted_hops: 0, client_header: '', traffic,
        steps: [
          { header: '', text: body.peer ?? '172.18.0.1:51234', what: 'visitor' },
          ...(proxied ?? '198.51.100.7, 2001:db8:85a3:8d3:1319:8a2e:370:7348').split(',').reverse().map((text) => ({ header: 'X-Forwarded-For', text: text.trim(), what: 'not-asked' })),
        ],
        geo: { source: 'built-in DB-IP Country Lite', built: '2026-02-01T00:00:00Z' }, geo_age_days: 28, networks: { source: '' }, networks_age_days: 0,
        hit: { browser: 'Chrome', browser_version: '138', os: 'Linux', device: 'desktop' },
        advice: ['172.18.0.1 sends headers about the visitor\'s address and is not believed: if it is your proxy, name it with --trusted-proxies 172.18.0.1'],
      };
    }
    throw refuse(404, 'not_found', 'there is no such path');
  }

  function stream(response, of) {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    response.write('retry: 2000\n\n');
    let said = '';
    let saidAt = 0;
    const say = () => {
      const document = nowOf(of);
      const { complete_to, ...rest } = document;
      const sign = JSON.stringify(rest) + state.posted.length;
      if (sign === said && Date.now() - saidAt < 15_000) return;
      said = sign;
      saidAt = Date.now();
      response.write(`event: now\ndata: ${JSON.stringify(document)}\n\n`);
    };
    say();
    const timer = setInterval(say, 250);
    state.streams.add(response);
    response.on('close', () => (clearInterval(timer), state.streams.delete(response)));
    return response;
  }

  function collect(request, response, body) {
    response.setHeader('Access-Control-Allow-Origin', '*');
    const names = String(body.d ?? body.domain ?? '').split(',');
    for (const name of names) {
      const of = find(name);
      if (!of) state.unknown = (state.unknown ?? 0) + 1;
      if (!of) return void response.writeHead(400).end(JSON.stringify({ errors: { domain: [`unknown site ${name}`] } }));
      const kind = (body.n ?? body.name) === 'pageview' ? 'pageview' : 'event';
      if (body.id && state.posted.some((hit) => hit.id === body.id)) continue;
      state.posted.push({ site: of.name, at: Date.now(), kind, id: body.id, visitor: request.headers['user-agent'], bot: /bot|headless/i.test(request.headers['user-agent'] ?? ''), page: kind === 'pageview' ? new URL(body.u).pathname : undefined });
    }
    response.writeHead(202).end('ok');
  }

  function collectClicks(response, text) {
    const lines = text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
    for (const line of lines) state.posted.push({ site: line.site, at: Date.now(), kind: 'click', link: line.link, visitor: line.ip + line.ua });
    response.writeHead(202, { 'Content-Type': 'application/json' }).end(JSON.stringify({ accepted: lines.length, rejected: 0 }));
  }

  function follow(request, response, slug) {
    const link = state.links.find((one) => one.slug === slug);
    if (!link) return void response.writeHead(404).end('There is no such link here.\n');
    state.posted.push({ site: link.site, at: Date.now(), kind: 'click', link: link.id, visitor: request.headers['user-agent'] });
    response.writeHead(link.status, { Location: link.dest, 'Cache-Control': 'no-store' }).end();
  }

  function file(response, pathname) {
    const name = pathname === '/js/script.js' ? '/js/weir.js' : pathname;
    const path = dist + name;
    const there = !name.includes('..') && existsSync(path) && statSync(path).isFile();
    const served = there ? path : `${dist}/index.html`;
    response.setHeader('Content-Security-Policy', policy);
    response.setHeader('Content-Type', types[extname(served)] ?? 'application/octet-stream');
    if (name.startsWith('/js/')) response.setHeader('Access-Control-Allow-Origin', '*');
    createReadStream(served).pipe(response);
  }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url, 'http://mock');
    const text = await new Promise((resolve) => {
      let all = '';
      request.on('data', (chunk) => (all += chunk)).on('end', () => resolve(all));
    });
    if (url.pathname === '/mock') {
      const order = JSON.parse(text);
      if ('away' in order) state.away = order.away;
      if (order.expire) state.sessions.clear();
      if (order.silent || order.away || order.expire) for (const one of state.streams) one.destroy();
      return void response.end(JSON.stringify({ posted: state.posted }));
    }
    if (state.away) return void request.socket.destroy();
    if (url.pathname === '/api/event' && request.method === 'POST') return collect(request, response, JSON.parse(text));
    if (url.pathname === '/api/clicks' && request.method === 'POST') return collectClicks(response, text);
    if (url.pathname === '/readyz' || url.pathname === '/healthz') return void response.end('{"ready":true}');
    if (url.pathname.startsWith('/l/')) return follow(request, response, decodeURIComponent(url.pathname.slice('/l/'.length)));
    if (!url.pathname.startsWith('/api/')) return file(response, url.pathname);
    try {
      const answer = await api(request, response, url, text ? JSON.parse(text) : {});
      if (answer === response) return;
      if (answer === undefined) return void response.writeHead(204).end();
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(answer));
    } catch (error) {
      if (!(error instanceof Refusal)) console.error(error);
      response.writeHead(error.status ?? 500, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(error.body ?? { error: { code: 'internal', message: String(error) } }));
    }
  });
  return { server, state };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const port = Number(process.env.MOCK_PORT ?? 8099);
  createMock({ fresh: process.env.MOCK_FRESH === '1' }).server.listen(port, '127.0.0.1', () => console.log(`mock on http://127.0.0.1:${port}${process.env.MOCK_FRESH === '1' ? '/setup#mock-token' : ''}`));
}
