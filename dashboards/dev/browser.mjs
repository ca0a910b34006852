// Starts the Chromium of the system for tests and screenshots. Debian calls it /usr/bin/chromium; CHROMIUM names another.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

export const executablePath = process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

/** The flags keep it from looking up hosts of its own. Without the last one navigator.webdriver is true, and the tracker stays silent. */
export const launch = () =>
  chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-blink-features=AutomationControlled'],
  });

/** A user agent without "Headless", which is rightly taken for a bot. */
export const humanAgent = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';
