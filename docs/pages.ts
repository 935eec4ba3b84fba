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
  'README.md': 'starts and tests everything: local/test starts it, and the whole suite is the test',
  'CONTRIBUTING.md': 'run all the tests',
  'docs/deploy.md': needsDocker,
  'docs/several-nodes.md': needsDocker,
  'docs/systemd.md': 'needs your own server; docs/deploy/systemd has its own tests',
  'docs/kubernetes.md': 'needs a cluster; docs/deploy/helm has its own tests',
  'docs/version-control.md': 'needs your own Git host; apps/workspaces/test does the same with Gitea',
  'docs/guides/acme.md': 'needs your own domain names and web server; apps/secrets/test/interop runs ACME clients',
  'docs/guides/audit.md': 'sends lines to your own log server',
  'docs/guides/backup.md': 'needs your own database; the tests of the command line restore into one',
  'docs/guides/cert-login.md':
    'needs TLS, which npm start does not have; apps/cli/test/cert-login.test.ts does the same',
  'docs/guides/import.md': 'needs another server; the tests of both imports start one',
  'docs/guides/remote-runs.md': 'starts a worker that keeps running',
};
