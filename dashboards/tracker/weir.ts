// The tracker: <script defer data-site="example.com" src="https://HOST/js/weir.js"></script>
//
// Counts a page view when the page loads and whenever its address changes without a load (history API, and the fragment with data-hash),
// and custom events: weir('Signup', { props: { plan: 'pro' } }). docs/tracker.md says what each option does.
//
// Two files come of it. js/weir.js is the core, at most 1,000 bytes after gzip. js/weir.all.js has every option as well, at most 2,000, and
// does what its own name and its attributes ask for: js/weir.outbound-links.404.js. ALL is a constant of the build; what hangs on it is not
// in the core. A core that finds an attribute it has no code for fetches the other file and leaves the page to that.
//
// Every hit has an id from before its first attempt, so what is sent twice is counted once. It stays in sessionStorage, the last nine for
// twelve hours, until it is answered; the next page, or the network when it is back, sends what is left. Nothing else is stored, and no
// cookie is set.
import { watchClicks } from './clicks';
import { engaged, watchEngagement } from './engagement';
import { data, doc, on, script, win, type Answer, type Call, type Callback, type Hit, type Options, type Stub } from './page';
import { callOff, leftOut, pageProps, report404 } from './pages';

const maxWaiting = 9;
const waitMs = 432e5; // half of the day in which the server knows an id again
const idAt = 7; // where the id's 13 digits of time begin in a body

const start = () => {
  const hash = +on('hash');
  const api = data.api || new URL('../api/event', script.src);
  let last = '';
  let referrer = doc.referrer;
  let leave = () => {};

  // Takes a hit out of those that wait, or puts it at their end, and gives them all back. A body is one line of JSON, so lines make a list.
  // Storage throws when the browser forbids it.
  const waiting = (body?: string, stays?: unknown): string[] => {
    try {
      const lines = ((sessionStorage.weir || '') as string).replace(body + '\n', '') + (stays ? body + '\n' : '');
      const bodies = lines.split('\n').slice(-maxWaiting - 1); // the last one is empty
      sessionStorage.weir = bodies.join('\n');
      return bodies;
    } catch {
      return [];
    }
  };

  // A string body goes out as text/plain, which needs no preflight.
  const post = (body: string, callback?: Callback) =>
    fetch(api, { method: 'POST', body, keepalive: true, credentials: 'omit' })
      .catch((error) => ({ error }))
      .then((answer: Answer) => {
        waiting(body, !(answer.status! < 429));
        if (callback) callback(answer);
      });

  const resend = () => waiting().map((body) => body && (Date.now() - +body.slice(idAt, idAt + 13) < waitMs ? post(body) : waiting(body)));

  const send = (name: string, options: Options = {}, more?: Partial<Hit>): unknown => {
    const hit: Hit = {
      id: Date.now() + '' + Math.random(),
      n: name,
      u: options.url || (ALL && options.u) || location.href,
      d: data.site || data.domain || location.hostname,
      r: referrer,
      p: options.props,
      $: options.revenue,
      i: options.interactive,
      h: hash,
      w: screen.width,
    };
    let off: unknown = navigator.webdriver;
    try {
      off = off || localStorage.weir_ignore || localStorage.plausible_ignore;
    } catch {}
    if (ALL) {
      off = off || callOff();
      if (name == 'pageview') {
        leave();
        hit.p = { ...pageProps, ...hit.p };
        off = off || leftOut(hit);
        engaged(off ? undefined : hit);
      }
      Object.assign(hit, more);
    }
    if (off) {
      console.info('weir: not counted');
      return options.callback && options.callback({});
    }
    const body = JSON.stringify(hit);
    if (!ALL || !more) waiting(body, 1);
    return post(body, options.callback);
  };

  const page = (event: { persisted?: boolean } = {}) => {
    const url = hash ? location.href : location.href.split('#')[0]!;
    // Back to a page the browser had kept whole: it is seen again.
    if (url != last || event.persisted) {
      referrer = last || doc.referrer;
      last = url;
      send('pageview');
    }
  };

  const { weir = send, plausible = send }: { weir?: Stub; plausible?: Stub } = win;
  win.weir = send;
  if (!plausible.l) win.plausible = send; // a loaded one is another's
  resend();
  if (ALL && on('(engagement|pageleave)')) leave = watchEngagement((of, e, sd) => send('engagement', { url: of.u, props: of.p }, { e, sd }));
  if (!on('manual')) {
    (['pushState', 'replaceState'] as const).map((method) => {
      const original = history[method];
      history[method] = (...args) => {
        original.apply(history, args);
        page();
      };
    });
    ['popstate', 'pageshow'].map((type) => addEventListener(type, page as () => void));
    page();
  }
  addEventListener('online', resend);
  if (ALL) {
    watchClicks(send);
    report404(send);
  }
  [weir, plausible].map(({ q = [] }) => q.splice(0).map((args) => send(...(args as Call))));
};

// Some letters of each attribute that the core has no code for: 404, exclude and include, dnt, engagement, fileDownloads, outboundLinks,
// taggedEvents.
const beyond = /4|cl|dn|ng|fi|ou|gg/;

// Under a content security policy with a nonce, what a script imports is as welcome as the script.
const begin = ALL
  ? start
  : () => {
      if (beyond.test(Object.keys(data).join())) {
        win.weir!.tag = script;
        import(/* @vite-ignore */ script.src.replace(/[^/]*$/, 'weir.all.js')).catch(start);
      } else start();
    };

// Calls made before the script is ready, or while the page is prerendered, wait in q.
win.weir =
  win.weir ||
  function () {
    (win.weir!.q = win.weir!.q || []).push(arguments as unknown as unknown[]);
  };
if (doc.prerendering) doc.addEventListener('prerenderingchange', begin);
else begin();
