// Light, dark, or as the system has it. public/theme.js applies a stored choice before the first paint.

export type Choice = 'system' | 'light' | 'dark';
const stored = 'weir.theme';

class Theme {
  choice = $state<Choice>('system');
  #system = matchMedia('(prefers-color-scheme: dark)');
  #systemDark = $state(false);
  dark = $derived(this.choice === 'dark' || (this.choice === 'system' && this.#systemDark));

  constructor() {
    const set = document.documentElement.dataset.theme;
    if (set === 'light' || set === 'dark') this.choice = set;
    this.#systemDark = this.#system.matches;
    this.#system.addEventListener('change', (event) => (this.#systemDark = event.matches));
  }

  choose(choice: Choice) {
    this.choice = choice;
    try {
      if (choice === 'system') {
        delete document.documentElement.dataset.theme;
        localStorage.removeItem(stored);
      } else {
        document.documentElement.dataset.theme = choice;
        localStorage.setItem(stored, choice);
      }
    } catch {
      // No storage: the choice lasts as long as the page.
    }
  }

  flip() {
    this.choose(this.dark ? 'light' : 'dark');
  }
}

export const theme = new Theme();
