import type { CommandSpec } from '../command';
import { Problem } from '../problem';
import { findToken } from '../settings';
import { afterStop, ImportProgress, secretOf, showOutcome } from './import-outcome';
import { count } from './values';

interface ImportFlags {
  from: string;
  fromNamespace?: string;
  fromCaCert?: string;
  dryRun?: boolean;
  parallel: string;
  rate: string;
  longestGap: string;
}

/** `import vault`: copies from a server that has the same API. */
export const vaultImportCommands: readonly CommandSpec[] = [
  {
    name: 'import vault',
    also: ['import openbao'],
    help: 'Copy namespaces, policies, auth methods, identities, kv secrets and engines from a running Vault or OpenBao.',
    flags: {
      '--from <address>': {
        help: 'URL of the other server; set its token in IMPORT_TOKEN or IMPORT_TOKEN_FILE',
        required: true,
      },
      '--from-namespace <path>': 'the namespace to copy, with everything below it',
      '--from-ca-cert <file>': 'PEM file of the CA that issued its certificate',
      '--dry-run': 'write nothing and read no value; show what would be written',
      '--parallel <number>': { help: 'number of secrets to copy at the same time', default: '4' },
      '--rate <number>': {
        help: 'maximum requests per second to the other server; 0: no limit',
        default: '200',
      },
      '--longest-gap <number>': {
        help: 'maximum number of removed versions per secret to recreate as empty versions, to keep version numbers the same',
        default: '1000',
      },
    },
    examples: ['import vault -from=https://vault.example.com:8200 -dry-run'],
    more: 'Run it again after an interruption, or later to copy new items; existing ones are not changed.',
    async run(context, flags: ImportFlags) {
      const { settings, env, interruption } = context;
      const { Report }: typeof import('../migration/report') = require('../migration/report');
      const { RequestPace }: typeof import('../migration/vault/pace') = require('../migration/vault/pace');
      const { SecretsServer }: typeof import('../migration/vault/server') = require('../migration/vault/server');
      const { importVault }: typeof import('../migration/vault/vault') = require('../migration/vault/vault');
      const progress = new ImportProgress(context, 'secrets');
      const report = new Report((sentence) => progress.note(sentence));
      const token = findToken(settings);
      if (!token) throw new Problem('no token for this service: run keystead login, or set SERVICE_TOKEN');
      if (settings.wrapTtl) throw new Problem('--wrap-ttl cannot be used with an import');
      const dryRun = flags.dryRun ?? false;
      const from = new SecretsServer({
        name: 'the other server',
        address: addressOf(flags.from),
        token: secretOf('IMPORT_TOKEN', env),
        namespace: trimmed(flags.fromNamespace),
        tls: { caFile: flags.fromCaCert, skipVerify: false },
        headers: 'X-Vault',
        pace: new RequestPace(count(flags.rate, '--rate')),
      });
      const to = new SecretsServer({
        name: 'this service',
        address: settings.address,
        token,
        namespace: trimmed(settings.namespace),
        tls: settings.tls,
        headers: 'X-Service',
        pace: new RequestPace(0),
      });
      const parallel = count(flags.parallel, '--parallel');
      if (parallel < 1 || parallel > 64) throw new Problem('--parallel must be a number from 1 to 64');
      try {
        const longestGap = count(flags.longestGap, '--longest-gap');
        const job = { from, to, dryRun, parallel, longestGap, report, progress, renamed: new Map() };
        await interruption.during(afterStop, () => importVault(job));
      } finally {
        progress.end();
        // An import that ended early also reports how far it got.
        showOutcome(context, report, dryRun);
        from.close();
        to.close();
      }
    },
  },
];

function addressOf(addressText: string): string {
  const address = addressText.replace(/\/$/, '');
  if (!/^https?:\/\/[^/]+$/.test(address))
    throw new Problem(`${addressText} is not an address: use https://host:port (--from)`);
  return address;
}

const trimmed = (namespace = ''): string => namespace.split('/').filter(Boolean).join('/');
