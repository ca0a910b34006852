// Calls to the HTTP API. A failed call throws Failure, whose kind says what the page can do about it. Whether the server can be reached
// at all is told to `reach`, which shows one banner for the whole page.
import type { Range } from './ranges';
import { reach } from './reach.svelte';
import { recall } from './remember';
import type { Answer, Attribution, Compare, Diagnosis, Every, Link, Me, Now, Refused, Report, Role, Rules, Scope, Site, Status, Token, User } from './types';

export type Kind = 'away' | 'expired' | 'refused';

export class Failure extends Error {
  constructor(
    readonly kind: Kind,
    message: string,
    readonly code = '',
    readonly field = '',
    readonly status = 0,
  ) {
    super(message);
  }
}

const base = '/api/v1';
const awayAfterMs = 15_000; // a guess: counts answer within milliseconds, passwords within one second

async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const limit = AbortSignal.timeout(awayAfterMs);
  let answer: Response;
  try {
    answer = await fetch(base + path, {
      method,
      headers: {
        ...(method === 'GET' ? {} : { 'X-Weir-Request': '1' }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
      cache: 'no-store',
    });
  } catch (error) {
    if (signal?.aborted) throw error; // the page no longer wants it
    reach.lost();
    throw new Failure('away', 'weir cannot be reached.');
  }
  if (answer.ok) {
    reach.found();
    return answer.status === 204 ? (undefined as T) : ((await answer.json()) as T);
  }
  throw await failure(answer);
}

async function failure(answer: Response): Promise<Failure> {
  const text = await answer.text().catch(() => '');
  let error: { code?: string; message?: string; field?: string } = {};
  try {
    error = (JSON.parse(text) as { error?: typeof error }).error ?? {};
  } catch {
    // A proxy in front answers with a page of its own.
  }
  if (answer.status === 502 || answer.status === 503 || answer.status === 504) {
    if (!error.code) reach.lost();
    return new Failure('away', error.message ? sentence(error.message) : 'weir is not ready yet.', error.code, '', answer.status);
  }
  reach.found();
  const kind: Kind = answer.status === 401 && error.code !== 'wrong_password' ? 'expired' : 'refused';
  return new Failure(kind, error.message ? sentence(error.message, error.field) : `The server answered ${answer.status}.`, error.code, error.field, answer.status);
}

export interface Question {
  by?: Report;
  every?: Every;
  ask: Range['ask'];
  compare?: Compare | '';
  link?: string;
  limit?: number;
  zero?: boolean;
}

/** What the API says about a field begins with its name, which stands above the message on a page, and in lower case. */
export function sentence(message: string, field = ''): string {
  const rest = field && message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message;
  return rest.slice(0, 1).toUpperCase() + rest.slice(1);
}

/** Weeks begin on Sunday for those who chose so in this browser, else on Monday. */
const asked = (ask: Range['ask']): Record<string, string> => ('period' in ask && ask.period === 'week' && recall('weeks') === 'sunday' ? { ...ask, week_starts: 'sunday' } : { ...ask });

const site = (name: string) => `/sites/${encodeURIComponent(name)}`;

function questionOf(question: Question): URLSearchParams {
  const query = new URLSearchParams(asked(question.ask));
  if (question.compare) query.set('compare', question.compare);
  if (question.by) query.set('by', question.by);
  if (question.every) query.set('every', question.every);
  if (question.link) query.set('link', question.link);
  if (question.limit) query.set('limit', String(question.limit));
  if (question.zero) query.set('zero', '1');
  return query;
}

export const api = {
  setupNeeded: async () => (await call<{ needed: boolean }>('GET', '/setup')).needed,
  setup: (form: { token: string; email: string; password: string; site: string; timezone: string }) =>
    call<{ site: Site }>('POST', '/setup', form),
  login: (email: string, password: string) => call<Me>('POST', '/login', { email, password }),
  logout: () => call<void>('POST', '/logout'),
  me: () => call<Me>('GET', '/me'),
  changePassword: (old: string, next: string) => call<void>('POST', '/me/password', { old, new: next }),

  sites: async (signal?: AbortSignal) => (await call<{ sites: Site[] | null }>('GET', '/sites', undefined, signal)).sites ?? [],
  site: (name: string, signal?: AbortSignal) => call<Site>('GET', site(name), undefined, signal),
  addSite: (name: string, timezone: string) => call<Site>('POST', '/sites', { name, timezone }),
  changeSite: (name: string, to: { timezone?: string; rules?: Rules }) => call<Site>('PATCH', site(name), to),
  deleteSite: (name: string) => call<void>('DELETE', site(name)),

  counts: async (name: string, question: Question, signal?: AbortSignal) => {
    const answer = await call<Answer>('GET', `${site(name)}/counts?${questionOf(question)}`, undefined, signal);
    return { ...answer, rows: answer.rows ?? [] };
  },
  /** Where the same counts are as a file for spreadsheets. */
  countsFile: (name: string, question: Question) => `${base}${site(name)}/counts?${questionOf(question)}&format=csv`,
  refused: (name: string, ask: Range['ask'], signal?: AbortSignal) => call<Refused>('GET', `${site(name)}/refused?${new URLSearchParams(asked(ask))}`, undefined, signal),
  now: (name: string, signal?: AbortSignal) => call<Now>('GET', `${site(name)}/now`, undefined, signal),
  liveURL: (name: string) => `${base}${site(name)}/live`,

  links: async (name: string, signal?: AbortSignal) =>
    (await call<{ links: Link[] | null }>('GET', `/links?${new URLSearchParams({ site: name })}`, undefined, signal)).links ?? [],
  addLink: (name: string, link: Partial<Link>) => call<{ links: Link[] }>('POST', `${site(name)}/links`, { links: [link] }),
  deleteLink: (link: Link) => call<void>('DELETE', `/links/${encodeURIComponent(link.slug)}?${new URLSearchParams({ domain: link.domain })}`),

  users: async () => (await call<{ users: User[] | null }>('GET', '/users')).users ?? [],
  addUser: (email: string, role: Role, password: string) => call<User>('POST', '/users', { email, role, password }),
  setPassword: (email: string, password: string) => call<void>('PUT', `/users/${encodeURIComponent(email)}/password`, { password }),
  deleteUser: (email: string) => call<void>('DELETE', `/users/${encodeURIComponent(email)}`),

  tokens: async () => (await call<{ tokens: Token[] | null }>('GET', '/tokens')).tokens ?? [],
  addToken: (name: string, scopes: Scope[]) => call<Token & { token: string }>('POST', '/tokens', { name, scopes }),
  deleteToken: (id: number) => call<void>('DELETE', `/tokens/${id}`),

  status: () => call<Status>('GET', '/status'),
  diagnose: (name: string, request: { peer?: string; headers?: Record<string, string> }) => call<Diagnosis>('POST', `${site(name)}/diagnose`, request),
  attribution: async () => (await call<{ attribution: Attribution[] | null }>('GET', '/attribution')).attribution ?? [],
};
