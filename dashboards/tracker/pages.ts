// Which pages count, in which browsers, and with which properties.
import { data, on, script, type Hit, type Props, type Send } from './page';

// * stands for anything within a part of a path, ** for anything.
const names = (attribute: string, path: string): boolean | null => {
  const list = (data[attribute] || '').match(/[^\s,]+/g);
  return (
    list &&
    RegExp(
      `^(${list
        .join('|')
        .replace(/[^\w*|/]/g, '\\$&')
        .replace(/\*+/g, (stars) => (stars[1] ? '.*' : '[^/]*'))})/?$`,
    ).test(path)
  );
};

/** Whether data-exclude names a page, or data-include is there and does not. */
export const leftOut = (hit: Hit): unknown => {
  const path = location.pathname + (hit.h ? location.hash : '');
  return names('exclude', path) || names('include', path) === false;
};

/** Whether the visitor asks not to be followed, and the site heeds that. */
export const callOff = (): unknown =>
  on('dnt') && (navigator.doNotTrack == '1' || (navigator as { globalPrivacyControl?: boolean }).globalPrivacyControl);

/** Properties of page views that the tag has: data-event-author="Ada", or event-author as in Plausible's. */
export const pageProps: Props = {};
if (ALL) {
  Array.from(script.attributes, ({ name, value }) => {
    const key = name.split('event-')[1];
    return key && (pageProps[key] = value);
  });
}

/** Tells of a page that is missing, where the browser says with which status it came. */
export const report404 = (send: Send): unknown =>
  on('404') &&
  ((performance.getEntriesByType('navigation')[0] || {}) as { responseStatus?: number }).responseStatus == 404 &&
  send('404', { props: { path: location.pathname }, interactive: false });
