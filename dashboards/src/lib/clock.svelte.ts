/** The time, as a value that changes every second while somebody looks at it. */
class Clock {
  ms = $state(Date.now());
  constructor() {
    setInterval(() => {
      if (!document.hidden) this.ms = Date.now();
    }, 1000);
  }
}

export const clockNow = new Clock();
