// Which page stands at which address.

export type Route =
  | { page: 'sites' }
  | { page: 'setup' }
  | { page: 'login' }
  | { page: 'settings' }
  | { page: 'site'; site: string; link: string }
  | { page: 'lost' };

export function match(path: string): Route {
  const parts = path.split('/').filter(Boolean).map(decode);
  if (parts.length === 0) return { page: 'sites' };
  if (parts.length === 1 && (parts[0] === 'setup' || parts[0] === 'login' || parts[0] === 'settings')) return { page: parts[0] };
  if (parts[0] === 's' && parts[1] && parts.length === 2) return { page: 'site', site: parts[1], link: '' };
  // A link id may hold slashes that somebody wrote plainly.
  if (parts[0] === 's' && parts[1] && parts[2] === 'l' && parts.length > 3) return { page: 'site', site: parts[1], link: parts.slice(3).join('/') };
  return { page: 'lost' };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const sitePath = (site: string, link = ''): string => `/s/${encodeURIComponent(site)}${link ? `/l/${encodeURIComponent(link)}` : ''}`;

/** Where to go after log-in: only to a path of this server. */
export const safeNext = (next: string | null): string => (next && /^\/(?![/\\])/.test(next) ? next : '/');
