// Addresses and pages. Links are ordinary <a href>; clicks on those that lead to a page of ours are caught once, at the document.

import { match } from './routes';

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
