// Clicks that count: links that lead elsewhere, files, and elements whose class names an event, as Plausible's do.
import { data, on, script, type Props, type Send } from './page';

const fileTypes = 'pdf,xlsx?,docx?,txt,rtf,csv,exe,key,pp[st]x?,7z,pkg,rar,gz,zip,avi,mov,mp[34],mpeg,wm[av],midi,wav,dmg';

// Plausible's tag has file-types.
const types = ALL && (data.fileDownloads || script.getAttribute('file-types') || fileTypes);
const file = ALL && RegExp(`[.](${(types as string).replace(/[\s,]+/g, '|')})$`, 'i');

/** Watches for clicks and sent forms. Sending does not hold them up. */
export const watchClicks = (send: Send): unknown =>
  ['click', 'auxclick', 'submit'].map((type) =>
    addEventListener(
      type,
      (event) => {
        const find = <E extends Element>(selector: string) =>
          (event.target as Element).closest<E>(selector);
        const link = find<HTMLAnchorElement>('a[href]');
        const element = on('tagged') && find('[class*="-event-name"]');
        const url = link && link.href;
        if ((event as MouseEvent).button > 1) return; // the right button opens a menu
        if (element) {
          // class="weir-event-name=Signup weir-event-plan=pro weir-revenue-amount=9": + is a space, and -- stands for = where an editor
          // takes that away.
          const found = { event: (url ? { url } : {}) as Props, revenue: {} as Props };
          element.classList.forEach((text) =>
            text.replace(/-(event|revenue)-(.+?)(=|--)(.+)/, (_, kind: 'event', key: string, _sign, value: string) => (found[kind][key] = value.replace(/\+/g, ' ')) as string),
          );
          const { name, ...props } = found.event;
          if (element.matches('form') == (type == 'submit')) send(name as string, { props, revenue: found.revenue });
        } else if (url && link.host) {
          if (on('outbound') && link.host != location.host) send('Outbound Link: Click', { props: { url } });
          else if (on('file') && (file as RegExp).test(link.pathname)) send('File Download', { props: { url: url.split('?')[0]! } });
        }
      },
      true,
    ),
  );
