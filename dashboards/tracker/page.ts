// What all parts of the tracker share: the page, the tag, and the shapes of calls and hits.

declare global {
  /** Whether the options beyond the core are in this build. A constant: the minifier takes out what hangs on it. */
  const ALL: boolean;
}

export type Props = Record<string, string | number | boolean>;
export interface Answer {
  status?: number; // of HTTP
  error?: unknown; // why there is none
}
export type Callback = (answer: Answer) => void;

export interface Options {
  props?: Props;
  revenue?: { currency?: string; amount?: number | string };
  interactive?: boolean;
  url?: string;
  u?: string; // as Plausible calls it
  callback?: Callback; // called once the hit is answered, has failed, or is not sent at all
}

export type Call = [name: string, options?: Options];

/** A hit as it is sent; docs/interfaces.md names the fields. */
export interface Hit {
  id: string;
  n: string;
  u: string;
  d: string;
  r?: string;
  p?: Props;
  $?: Options['revenue'];
  i?: boolean;
  h?: number;
  w: number; // width of the screen, CSS pixels
  e?: number; // engaged time, ms
  sd?: number; // deepest scroll, percent
}

export type Send = (...call: Call) => unknown;

/** What stands for the tracker before it is there, and what it puts in that place. */
export type Stub = Send & {
  q?: unknown[][]; // calls that wait
  l?: boolean; // Plausible's own script is loaded
  tag?: HTMLScriptElement; // of the core that has fetched this file
};

export const win = window as Window & { weir?: Stub; plausible?: Stub };
export const doc = document as Document & { prerendering?: boolean };

/** The tag. Where a program has put it in, the browser does not tell which one it is. */
export const script = (doc.currentScript || (ALL && win.weir && win.weir.tag) || doc.querySelector('[data-site],[data-domain]')) as HTMLScriptElement;

export const data = script.dataset;

// The script's own name and the names of the attributes: "weir.outbound-links.js.site,fileDownloads".
const asked = ALL && script.src.replace(/.*\/|\?.*/g, '') + '.' + Object.keys(data);

/** Whether an option is on: as an attribute, or as a part of the script's name. Its first word is enough. */
export const on = (option: string): boolean => (ALL ? RegExp('\\b' + option).test(asked as string) : option in data);
