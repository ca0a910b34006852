import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';
import { drawWorld } from './scripts/world.mjs';

// `import world from 'virtual:world'`: the drawn map, as a chunk of its own that is loaded when a map is opened.
function world(): Plugin {
  const name = 'virtual:world';
  return {
    name: 'weir-world',
    resolveId: (id) => (id === name ? '\0' + name : null),
    load: async (id) => (id === '\0' + name ? `export default JSON.parse(${JSON.stringify(JSON.stringify(await drawWorld()))})` : null),
  };
}

export default defineConfig({
  plugins: [svelte(), world()],
  build: {
    target: 'es2022',
    // The content security policy is default-src 'self': no data: addresses, no inline code.
    assetsInlineLimit: 0,
    manifest: true,
    modulePreload: { polyfill: false },
    rollupOptions: {
      checks: { pluginTimings: false }, // drawing the world takes its time, as it should
      output: {
        // Short names without words that content blockers look for.
        entryFileNames: 'assets/[name]-[hash].js',
        chunkFileNames: 'assets/[name]-[hash].js',
        assetFileNames: 'assets/[name]-[hash][extname]',
      },
    },
  },
  server: {
    proxy: Object.fromEntries(['/api', '/js', '/p.gif', '/readyz'].map((path) => [path, process.env.WEIR_API ?? 'http://127.0.0.1:8099'])),
  },
  test: { include: ['test/unit/**/*.test.ts'] },
} as Parameters<typeof defineConfig>[0]);
