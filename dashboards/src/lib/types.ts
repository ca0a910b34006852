// The shapes of the HTTP API as the dashboard reads them (docs/interfaces.md). Fields it does not use are left out.

export type Role = 'admin' | 'editor' | 'viewer';
export type Scope = 'stats' | 'ingest' | 'admin';
export type Report =
  | 'country' | 'region' | 'city'
  | 'browser' | 'browser_version' | 'os' | 'os_version' | 'device' | 'screen' | 'language'
  | 'page' | 'entry' | 'exit' | 'title' | 'hostname'
  | 'source' | 'channel' | 'referrer' | 'utm_source' | 'utm_medium' | 'utm_campaign' | 'utm_term' | 'utm_content'
  | 'event' | 'bot' | 'link'; // prettier-ignore
export type Every = 'minute' | 'hour' | 'day' | 'month';
export type Compare = 'previous' | 'year';

export interface Me {
  email?: string; // absent on the admin socket
  role: Role;
}

export interface Site {
  id: number;
  name: string;
  timezone: string;
  created_at: string;
  visitors_now: number;
  hits_30m: number;
  first_hit: boolean;
  rules?: Rules; // absent: none
}

export interface Rules {
  addresses?: string[];
  hosts?: string[];
  paths?: string[];
  referrers?: string[];
  countries?: string[];
  query_listed?: boolean;
  query?: string[];
  no_trailing_slash?: boolean;
  take_datacentres?: boolean;
}

export interface Link {
  id: string; // as in counts
  slug: string;
  domain: string;
  site: string;
  dest: string;
  status: number;
  pass_query: boolean;
  pass_path: boolean;
  expires_at: string | null;
  created_at: string;
}

export interface Counts {
  visitors: number;
  pageviews: number;
  hits: number;
  humans: number;
  bots: number;
  events: number;
  clicks: number;
  // Of visits and engagements; left out when 0. All are sums: averages are made of them where they are shown.
  visits?: number;
  bounces?: number;
  duration_ms?: number;
  engaged_ms?: number;
  scroll_sum?: number;
  scroll_views?: number;
}

export interface Row extends Counts {
  key: string;
  start?: string; // of a series: RFC 3339 with the offset of the site's zone
}

export interface Answer {
  site: string;
  timezone: string;
  complete_to: string | null;
  visitors_are: string;
  truncated?: boolean;
  to: string | null;
  rows: Row[];
  compare?: { with: Compare; from: string; to: string; visitors_are: string; rows: Row[] };
}

export interface Now {
  visitors_5m: number;
  hits_1m: number;
  visitors_30m: number;
  hits_30m: number;
  complete_to: string | null;
  first_hit: boolean;
}

export interface Refusal {
  reason: string;
  count: number;
}

export interface Refused {
  rows: Refusal[]; // of the site
  no_site: Refusal[]; // of no site that is known
}

export interface User {
  email: string;
  role: Role;
  created_at: string;
}

export interface Token {
  id: number;
  name: string;
  scopes: Scope[];
  created_at: string;
}

export interface GeoIP {
  source: string;
  built?: string;
  old?: boolean;
  error?: string;
}

export interface Status {
  version: string;
  commit?: string;
  started_at?: string;
  node_id?: number;
  data_dir?: string;
  geoip?: GeoIP;
  geoip_asn?: GeoIP;
  listeners?: Record<string, string>;
}

/** One address of a request, or what stood where one belongs. */
export interface Step {
  header: string; // empty: the connection
  text: string;
  what: 'visitor' | 'proxy' | 'unreadable' | 'beyond' | 'not-asked';
}

export interface Diagnosis {
  address: string;
  header: string; // that the address is from; empty: the connection; unusable: a proxy that names nobody
  steps: Step[];
  trusted: string[];
  trusted_hops: number;
  client_header: string;
  traffic: { requests: number; headers: number; unreadable: number; inside: number; hits: number; no_country: number };
  geo: GeoIP;
  geo_age_days: number;
  networks: GeoIP;
  networks_age_days: number;
  advice: string[];
  hit: { country?: string; region?: string; city?: string; browser?: string; browser_version?: string; os?: string; device?: string; bot?: boolean; bot_kind?: string };
}

export interface Attribution {
  text: string;
  url: string;
}
