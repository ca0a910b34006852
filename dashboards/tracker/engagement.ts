// How long a page is looked at and how far down it is read. Told when the page is left or put aside, in Plausible's event "engagement": e
// is the time since the last one, in milliseconds, sd the deepest scroll so far, in percent of the page.
import { doc, type Hit } from './page';

const worthMs = 3000; // less time than that is not told by itself

let page: Hit | undefined; // the page view that is being looked at
let spent = 0; // ms not told yet
let since = 0; // when looking began; 0: nobody looks
let deepest = 0; // percent
let told = -1; // percent

const scrolled = () => {
  deepest = Math.max(deepest, ((scrollY + innerHeight) / doc.documentElement.scrollHeight) * 100);
};

// The time counts while the page is seen and has the keyboard.
const look = () => {
  const now = Date.now();
  if (since) spent += now - since;
  since = !doc.hidden && doc.hasFocus() ? now : 0;
};

/** Begins with another page; hit is undefined when that is not counted. What is left to tell of the one before must be told first. */
export const engaged = (hit?: Hit): void => {
  look();
  page = hit;
  spent = deepest = 0;
  told = -1;
};

/** Calls tell when there is something to tell, and gives back a function that looks for it now. */
export const watchEngagement = (tell: (page: Hit, e: number, sd: number) => unknown) => {
  const leave = (event?: Event) => {
    look();
    scrolled();
    if ((event && since) || !page || (spent < worthMs && deepest <= told)) return;
    tell(page, spent | 0, (told = deepest) | 0);
    spent = 0;
  };
  addEventListener('scroll', scrolled);
  ['visibilitychange', 'focus', 'blur'].map((type) => addEventListener(type, leave));
  return leave;
};
