// The lines a site owner pastes. Names are checked by the server, but what goes into HTML is escaped all the same.

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const attribute = (text: string): string => text.replace(/[&<>"]/g, (letter) => escapes[letter]!);

export const script = (site: string, origin: string): string => `<script defer data-site="${attribute(site)}" src="${origin}/js/weir.js"></script>`;

export const pixel = (site: string, origin: string): string =>
  `<noscript><img src="${origin}/p.gif?d=${encodeURIComponent(site)}" alt="" width="1" height="1"></noscript>`;

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
