// The sites this person may see, shared by the list, the switcher and the settings.
import { api } from './api';
import { session } from './session.svelte';
import type { Site } from './types';

class SiteList {
  sites = $state.raw<Site[] | null>(null);
  failure = $state('');
  #loading: Promise<void> | undefined;

  load(): Promise<void> {
    this.#loading ??= this.#load().finally(() => (this.#loading = undefined));
    return this.#loading;
  }

  forget() {
    this.sites = null;
  }

  async #load() {
    try {
      const sites = await api.sites();
      this.sites = sites.sort((a, b) => a.name.localeCompare(b.name));
      this.failure = '';
    } catch (error) {
      if (session.handled(error)) return;
      this.failure = error instanceof Error ? error.message : String(error);
    }
  }
}

export const siteList = new SiteList();
