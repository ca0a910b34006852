// The tracker: <script defer data-site="example.com" src="https://HOST/js/weir.js"></script>
//
// Counts a page view when the page loads and whenever its address changes without a load (history API, and the fragment with data-hash),
// and custom events: weir('Signup', { props: { plan: 'pro' } }).
//
// Attributes: data-site (the site's name; the page's host without it), data-hash (the fragment is part of the address), data-manual (no
// page views of its own), data-api (another place to send to). data-domain is read too, so that a Plausible snippet only needs a new src.
//
// Every hit carries an id given before its first attempt, so what is sent twice is counted once. What could not be sent waits in
// sessionStorage (the last nine) for the next page or for the network to return. Nothing else is stored, and no cookie is set.
// Off: localStorage.weir_ignore is set (own visits), or the browser is driven by a script. A prerendered page waits until it is shown.
//
// At most 1,000 bytes after gzip; the build fails above that. Plain names below are shortened by the minifier.

interface Options {
  props?: Record<string, string | number | boolean>;
  revenue?: { currency: string; amount: number | string };
  interactive?: boolean;
  url?: string;
}
type Call = [name: string, options?: Options];
interface Weir {
  (...call: Call): unknown;
  q?: ArrayLike<unknown>[];
}

((win: Window & { weir?: Weir }, doc: Document & { prerendering?: boolean }) => {
  const script = (doc.currentScript || doc.querySelector('[data-site]')) as HTMLScriptElement;
  const data = script.dataset;
  const hash = 'hash' in data;
  const api = data.api || new URL('../api/event', script.src).href;
  let last = '';
  let referrer: string;

  // Storage throws when the browser forbids it.
  const stored = (area: 'localStorage' | 'sessionStorage', key: string, value?: string): string => {
    try {
      const old = win[area][key] || '';
      if (value != null) win[area][key] = value;
      return old;
    } catch {
      return '';
    }
  };

  // A body is one line of JSON, so lines make a list. A string body goes out as text/plain, which needs no preflight.
  const keep = (body: string) =>
    stored('sessionStorage', 'weir', (stored('sessionStorage', 'weir') + '\n' + body).split('\n').slice(-9).join('\n'));

  const post = (body: string): unknown =>
    'keepalive' in Request.prototype
      ? fetch(api, { method: 'POST', body, keepalive: true, credentials: 'omit' }).then(
          (answer) => {
            if (answer.status > 428) keep(body);
          },
          () => {
            keep(body);
          },
        )
      : navigator.sendBeacon(api, body);

  const resend = () =>
    stored('sessionStorage', 'weir', '')
      .split('\n')
      .map((body) => body && post(body));

  const send = (name: string, options: Options = {}) =>
    stored('localStorage', 'weir_ignore') || navigator.webdriver
      ? console.info('weir: not counted (weir_ignore or webdriver)')
      : post(
          JSON.stringify({
            n: name,
            u: options.url || location.href,
            d: data.site || data.domain || location.hostname,
            r: referrer,
            p: options.props,
            $: options.revenue,
            i: options.interactive,
            h: hash ? 1 : undefined,
            v: 1,
            id: crypto.getRandomValues(new Uint32Array(4)).join('-'),
          }),
        );

  const page = () => {
    const url = hash ? location.href : location.href.split('#')[0]!;
    if (url != last) {
      referrer = last || doc.referrer;
      last = url;
      send('pageview');
    }
  };

  const start = () => {
    const waiting = win.weir!.q || [];
    win.weir = send;
    resend();
    if ('manual' in data) referrer = doc.referrer;
    else {
      (['pushState', 'replaceState'] as const).map((method) => {
        const original = history[method];
        history[method] = function (...args) {
          original.apply(history, args);
          page();
        };
      });
      addEventListener('popstate', page);
      // Back to a page the browser had kept whole: it is seen again.
      addEventListener('pageshow', (event) => {
        if (event.persisted) {
          last = '';
          page();
        }
      });
      page();
    }
    addEventListener('online', resend);
    for (let i = 0; i < waiting.length; i++) send(...(Array.from(waiting[i]!) as Call));
  };

  // Calls made before the script is ready, or while the page is prerendered, wait in q.
  win.weir = win.weir || function () {
    (win.weir!.q = win.weir!.q || []).push(arguments);
  };
  if (doc.prerendering) doc.addEventListener('prerenderingchange', start);
  else start();
})(window, document);
