// Builds tracker/weir.ts into dist/js/weir.js and refuses to let it grow past its limit.
import { readFile, writeFile, mkdir } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { transformWithOxc } from 'vite';
import { minify } from 'terser';

export const limitBytes = 1000; // after gzip; from docs/interfaces: the tracker must not be felt on the pages that carry it

export async function buildTracker(root) {
  const source = await readFile(new URL('tracker/weir.ts', root), 'utf8');
  const { code } = await transformWithOxc(source, 'weir.ts', { target: 'es2020' });
  const small = await minify(code, {
    ecma: 2020,
    toplevel: true,
    compress: { passes: 4, unsafe_arrows: true, booleans_as_integers: false, pure_getters: true },
    mangle: true,
    format: { comments: false, semicolons: true },
  });
  const gz = gzipSync(small.code, { level: 9 }).length;
  if (gz > limitBytes) throw new Error(`js/weir.js is ${gz} bytes after gzip, the limit is ${limitBytes}`);
  await mkdir(new URL('dist/js/', root), { recursive: true });
  await writeFile(new URL('dist/js/weir.js', root), small.code + '\n');
  return { raw: small.code.length, gz, code: small.code };
}
