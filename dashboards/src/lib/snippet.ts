// The lines a site owner pastes. Names are checked by the server, but what goes into HTML is escaped all the same.

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const attribute = (text: string): string => text.replace(/[&<>"]/g, (letter) => escapes[letter]!);

export interface Option {
  id: string; // as the script's name has it
  name: string;
  means: string;
}

/** What the script can do beside page views, as docs/tracker.md has it. */
export const options: readonly Option[] = [
  { id: 'outbound-links', name: 'Outbound links', means: 'clicks on links that lead to other sites' },
  { id: 'file-downloads', name: 'File downloads', means: 'clicks on links to PDFs, archives, media and the like' },
  { id: 'tagged-events', name: 'Tagged events', means: 'clicks and forms whose class names an event' },
  { id: '404', name: 'Missing pages', means: 'an event “404” where a page does not exist' },
  { id: 'engagement', name: 'Engagement', means: 'time on the page and scroll depth, kept with the raw hits' },
  { id: 'hash', name: 'Routes after #', means: 'for pages that route by what follows #' },
  { id: 'manual', name: 'Manual', means: 'no page views but those your page calls for' },
  { id: 'dnt', name: 'Do not track', means: 'leaves out browsers that ask for it' },
];

export const script = (site: string, origin: string, chosen: readonly string[] = []): string =>
  `<script defer data-site="${attribute(site)}" src="${origin}/js/${['weir', ...options.map(({ id }) => id).filter((id) => chosen.includes(id)), 'js'].join('.')}"></script>`;

/** Lets pages call weir() before the script is there. */
export const queue = '<script>window.weir = window.weir || function () { (weir.q = weir.q || []).push(arguments) }</script>';

// The policy lets browsers tell the path of the page, not its host alone.
export const pixel = (site: string, origin: string): string =>
  `<noscript><img src="${origin}/p.gif?d=${encodeURIComponent(site)}" alt="" referrerpolicy="no-referrer-when-downgrade" width="1" height="1"></noscript>`;

export const fromServer = (site: string, origin: string): string =>
  [
    `curl ${origin}/api/event \\`,
    `  -H 'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' \\`,
    `  -H 'X-Forwarded-For: 203.0.113.9' \\`,
    `  --data '{"name":"Order","url":"https://${attribute(site)}/thanks","domain":"${attribute(site)}","id":"order-4711","props":{"plan":"pro"},"revenue":{"currency":"EUR","amount":"19.90"}}'`,
  ].join('\n');

export const clicks = (site: string, origin: string): string =>
  [
    `curl ${origin}/api/clicks \\`,
    `  -H 'Authorization: Bearer TOKEN' -H 'Content-Type: application/x-ndjson' \\`,
    `  --data '{"site":"${attribute(site)}","link":"spring","dest":"https://${attribute(site)}/sale","ip":"203.0.113.9","ua":"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}'`,
  ].join('\n');

export const logFile = (site: string): string => `weir import --site ${site} access.log`;

/** Whether an address is one that only this machine or network can reach, so that a snippet with it works nowhere else. */
export function isPrivateHost(host: string): boolean {
  return (
    /^(localhost|.*\.localhost|.*\.local|.*\.internal)$/.test(host) ||
    /^(127|10)\.\d+\.\d+\.\d+$/.test(host) ||
    /^192\.168\.\d+\.\d+$/.test(host) ||
    /^172\.(1[6-9]|2\d|3[01])\.\d+\.\d+$/.test(host) ||
    /^\[(::1|f[cd][0-9a-f:]*|fe80[0-9a-f:]*)\]$/.test(host)
  );
}

/** What somebody types as a site becomes its name: no scheme, no path, no "www.". */
export function siteName(typed: string): string {
  let name = typed.trim().toLowerCase();
  name = name.replace(/^[a-z][a-z0-9+.-]*:\/\//, '').replace(/[/?#].*$/, '').replace(/^[^@]*@/, '');
  return name.replace(/\.$/, '').replace(/^www\.(?=.*\.)/, '');
}
