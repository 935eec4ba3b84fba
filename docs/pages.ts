import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { stepsOf } from './guides/document';

/** Pages of a folder that have commands to run, by name. */
const withSteps = (folder: string): string[] =>
  readdirSync(join(__dirname, folder)).filter(
    (file) => file.endsWith('.md') && stepsOf(join(__dirname, folder, file)).length > 0,
  );

/** The pages whose `sh` blocks a test runs as printed, by that test. It takes them from here. */
export const pagesRunBy = {
  // The tests of the local program walk the first as well, and kill processes under it.
  'docs/guides/guides.thorough.test.ts': [
    'docs/try-it.md',
    ...withSteps('guides').map((page) => `docs/guides/${page}`),
  ],
  'docs/clients/clients.interop.test.ts': withSteps('clients').map((page) => `docs/clients/${page}`),
};

const needsDocker = 'needs Docker; the files it uses have their own tests in docs/deploy';

/** The pages with commands that no test runs, marked `console`, and why not. */
export const notRun: Readonly<Record<string, string>> = {
  'README.md': 'start and test everything: local/test does the one, the reader of this page the other',
  'CONTRIBUTING.md': 'run all the tests',
  'docs/deploy.md': needsDocker,
  'docs/several-nodes.md': needsDocker,
  'docs/systemd.md': 'needs a server of yours; docs/deploy/systemd has its own tests',
  'docs/kubernetes.md': 'needs a cluster; docs/deploy/helm has its own tests',
  'docs/version-control.md': 'needs a Git host of yours; apps/workspaces/test does the same with a Gitea',
  'docs/guides/acme.md': 'needs names and a web server of yours; apps/secrets/test/interop has clients of ACME',
  'docs/guides/audit.md': 'sends lines to a log server of yours',
  'docs/guides/backup.md': 'a database of your own; the tests of the command line restore into one',
  'docs/guides/cert-login.md': 'needs TLS, which an npm start has not; apps/cli/test/cert-login.test.ts does the same',
  'docs/guides/import.md': 'needs another server; the tests of both imports have one',
  'docs/guides/remote-runs.md': 'starts a worker that goes on',
};
