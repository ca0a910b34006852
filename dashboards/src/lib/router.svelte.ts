// Addresses and pages. Links are ordinary <a href>; clicks on those that lead to a page of ours are caught once, at the document.

export type Route =
  | { page: 'sites' }
  | { page: 'setup' }
  | { page: 'login' }
  | { page: 'settings' }
  | { page: 'site'; site: string; link: string }
  | { page: 'lost' };

export function match(path: string): Route {
  const parts = path.split('/').filter(Boolean).map(decode);
  if (parts.length === 0) return { page: 'sites' };
  if (parts.length === 1 && (parts[0] === 'setup' || parts[0] === 'login' || parts[0] === 'settings')) return { page: parts[0] };
  if (parts[0] === 's' && parts[1] && parts.length === 2) return { page: 'site', site: parts[1], link: '' };
  // A link id may hold slashes that somebody wrote plainly.
  if (parts[0] === 's' && parts[1] && parts[2] === 'l' && parts.length > 3) return { page: 'site', site: parts[1], link: parts.slice(3).join('/') };
  return { page: 'lost' };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const sitePath = (site: string, link = ''): string => `/s/${encodeURIComponent(site)}${link ? `/l/${encodeURIComponent(link)}` : ''}`;

/** Where to go after log-in: only to a path of this server. */
export const safeNext = (next: string | null): string => (next && /^\/(?![/\\])/.test(next) ? next : '/');

class Router {
  path = $state(location.pathname);
  query = $state(new URLSearchParams(location.search));
  route = $derived(match(this.path));

  constructor() {
    addEventListener('popstate', () => this.#read());
    document.addEventListener('click', (event) => this.#click(event));
  }

  go(to: string, how: { replace?: boolean } = {}) {
    const samePage = new URL(to, location.href).pathname === location.pathname;
    if (how.replace) history.replaceState(null, '', to);
    else history.pushState(null, '', to);
    this.#read();
    if (!samePage) {
      scrollTo(0, 0);
      // The next page takes the reader's place: a screen reader starts at its heading.
      requestAnimationFrame(() => document.getElementById('main')?.focus({ preventScroll: true }));
    }
  }

  /** Changes parts of the query and keeps the rest; an empty value removes. */
  set(changes: Record<string, string>, how: { replace?: boolean } = { replace: true }) {
    const query = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(changes)) {
      if (value) query.set(name, value);
      else query.delete(name);
    }
    const text = query.toString();
    this.go(location.pathname + (text ? `?${text}` : ''), how);
  }

  #read() {
    this.path = location.pathname;
    this.query = new URLSearchParams(location.search);
  }

  #click(event: MouseEvent) {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest?.('a');
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin || link.getAttribute('href')?.startsWith('#')) return;
    if (match(link.pathname).page === 'lost') return;
    event.preventDefault();
    this.go(link.pathname + link.search + link.hash);
  }
}

export const router = new Router();
