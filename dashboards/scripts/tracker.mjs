// Builds tracker/weir.ts into dist/js/weir.js, the core, and dist/js/weir.all.js, with every option, and refuses to let them grow.
import { mkdir, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { minify } from 'terser';
import { build } from 'vite';

/** Bytes after gzip, by name of the file: pages that carry the tracker must not feel it. */
export const limits = { 'weir.js': 1000, 'weir.all.js': 2000 };

/** @returns {Promise<Record<string, { raw: number, gz: number, limit: number, code: string }>>} by name of the file */
export async function buildTracker(root) {
  await mkdir(new URL('dist/js/', root), { recursive: true });
  /** @type {Record<string, { raw: number, gz: number, limit: number, code: string }>} */
  const built = {};
  for (const [name, limit] of Object.entries(limits)) {
    const code = await shrink(await bundle(root, name === 'weir.all.js'));
    const gz = gzipSync(code, { level: 9 }).length;
    if (gz > limit) throw new Error(`js/${name} is ${gz} bytes after gzip, the limit is ${limit}`);
    await writeFile(new URL(`dist/js/${name}`, root), code);
    built[name] = { raw: code.length, gz, limit, code };
  }
  return built;
}

// One function that leaves nothing behind in the page but what it puts there on purpose.
async function bundle(root, all) {
  const [{ output }] = [
    await build({
      root: root.pathname,
      configFile: false,
      publicDir: false,
      logLevel: 'warn',
      define: { ALL: String(all) },
      build: { write: false, minify: false, target: 'es2018', lib: { entry: new URL('tracker/weir.ts', root).pathname, formats: ['iife'], name: 'weirTracker' } },
    }),
  ].flat();
  return output[0].code;
}

async function shrink(code) {
  const { code: small } = await minify(code, {
    ecma: 2015,
    toplevel: false,
    compress: { passes: 4, unsafe_arrows: true, booleans_as_integers: false, pure_getters: true },
    mangle: true,
    format: { comments: false, semicolons: true },
  });
  return small;
}
