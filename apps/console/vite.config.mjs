import react from '@vitejs/plugin-react';
import { defaultClientConditions, defineConfig } from 'vite';

/** Two pages from one code base: each service serves its own below /ui/. */
export default defineConfig({
  base: '/ui/',
  plugins: [react()],
  logLevel: 'warn',
  // Packages of ours are built from their sources.
  resolve: { conditions: ['source', ...defaultClientConditions] },
  build: {
    outDir: 'dist/ui',
    // Lists the chunks that each chunk loads, for the test of the budgets.
    manifest: 'manifest.json',
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: { polyfill: false },
    // An image in a style sheet would become a data: address; the policy allows only files.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 700,
    rolldownOptions: { input: ['secrets.html', 'workspaces.html'] },
  },
});
