// Who is logged in, and what happens when nobody is any more.
import { api, Failure } from './api';
import { router } from './router.svelte';
import type { Me } from './types';

class Session {
  me = $state<Me | null>(null);
  known = $state(false); // whether the server was asked
  expired = $state(false); // a login that was there has ended

  get isAdmin(): boolean {
    return this.me?.role === 'admin';
  }
  get mayEdit(): boolean {
    return this.me?.role === 'admin' || this.me?.role === 'editor';
  }

  async ask(): Promise<void> {
    try {
      this.me = await api.me();
      this.known = true;
    } catch (error) {
      if (!(error instanceof Failure) || error.kind === 'away') throw error;
      this.me = null;
      this.known = true;
    }
  }

  began(me: Me) {
    this.me = me;
    this.known = true;
    this.expired = false;
  }

  async end() {
    try {
      await api.logout();
    } catch (error) {
      if (error instanceof Failure && error.kind === 'away') return; // the banner says so; still logged in
    }
    this.me = null;
    this.expired = false;
    router.go('/login');
  }

  /** Gives back true when the failure was that the login ended; the page is then on its way to the log-in page and back. */
  handled(error: unknown): boolean {
    if (!(error instanceof Failure) || error.kind !== 'expired') return false;
    if (router.route.page !== 'login') {
      this.expired = this.me !== null;
      this.me = null;
      router.go(`/login?next=${encodeURIComponent(location.pathname + location.search)}`, { replace: true });
    }
    return true;
  }
}

export const session = new Session();
