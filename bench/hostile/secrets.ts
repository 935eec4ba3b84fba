import { randomBytes } from 'node:crypto';
import path from 'node:path';
import type { Ground } from '../src/program';
import { ask } from '../src/service';
import type { Bounds } from './bodies';
import { casesFor, type Dialect } from './cases';
import { type Document, type Operation, operationsOf } from './document';
import type { Case, Sender, Target } from './run-case';
import { secretsHints } from './secrets-hints';
import { startWatched } from './service';

const KiB = 1024;
/** The mounts to create before the test. */
const mounts: readonly (readonly [string, object])[] = [
  ['mounts/kv1', { type: 'kv' }],
  ['mounts/kv2', { type: 'kv', options: { version: '2' } }],
  ['auth/userpass', { type: 'userpass' }],
  ['auth/approle', { type: 'approle' }],
  ['auth/jwt', { type: 'jwt' }],
];

/** Prepares the secrets service with one object of every kind, and returns its cases. */
export async function prepareSecrets(setup: Ground): Promise<{ target: Target; cases: Case[] }> {
  const target = await startWatched(
    'secrets',
    {
      SECRETS_SEAL_KEY: randomBytes(32).toString('hex'),
      SECRETS_AUDIT_FILE: path.join(setup.folder, 'audit.log'),
      SECRETS_AUDIT_TABLE: 'on',
    },
    setup,
  );
  const v1 = `${target.url}/v1`;
  const shares = { recovery_shares: 5, recovery_threshold: 3 };
  const { root_token: root } = await ask<{ root_token: string }>(`${v1}/sys/init`, 'PUT', {}, shares);
  const credentials = { 'X-Service-Token': root };
  for (const [at, body] of mounts) await ask(`${v1}/sys/${at}`, 'POST', credentials, body);
  const document = await ask<Document>(`${v1}/sys/internal/specs/openapi`, 'GET', credentials);
  const cases = casesFor(operationsOf(document), dialectOf(credentials));
  return { target, cases: [...cases, ...(await withManyPolicies(v1, credentials))] };
}

/** A caller with the maximum number of policy rules, for look-ups of rights. */
async function withManyPolicies(v1: string, credentials: Record<string, string>): Promise<Case[]> {
  const policies = Array.from({ length: 5 }, (_, n) => `rules-${n}`);
  for (const name of policies) {
    const rules = Array.from({ length: 9_990 }, (_, n) => `path "+/${name}/${n}*" { policy = "write" }\n`).join('');
    await ask(`${v1}/sys/policies/acl/${name}`, 'POST', credentials, { policy: rules });
  }
  const { auth } = await ask<{ auth: { client_token: string } }>(`${v1}/auth/token/create`, 'POST', credentials, {
    policies,
  });
  const headers = { 'X-Service-Token': auth.client_token, 'Content-Type': 'application/json' };
  const paths = JSON.stringify({ paths: Array.from({ length: 10_000 }, (_, n) => `KV1/rules-0/${n}`) });
  const caseOf = (method: string, path: string, body?: string): Case => ({
    sender: 'caller',
    operation: `${method} /${path}`,
    kind: '49,950 rules',
    method,
    path: `/v1/${path}`,
    headers,
    ...(body !== undefined && { body: () => body }),
  });
  return [
    caseOf('GET', 'auth/token/lookup-self'),
    caseOf('GET', 'kv1/rules-0/1'),
    caseOf('GET', 'identity/entity/name/RULES'),
    caseOf('GET', 'sys/internal/ui/mounts'),
    caseOf('GET', 'sys/internal/ui/resultant-acl'),
    caseOf('GET', 'sys/internal/specs/openapi'),
    caseOf('POST', 'sys/capabilities-self', paths),
  ];
}

function dialectOf(credentials: Record<string, string>): Dialect {
  return {
    prefix: '/v1',
    credentials,
    bounds: (sender, operation) => boundsOf(sender, operation),
    hints: secretsHints(),
    parameters: { path: 'kv1', secret_mount_path: 'kv1' },
    forms: true,
    spared:
      /^DELETE |sys\/seal|sys\/step-down|revoke-self|sys\/quotas|sys\/audit\/|sys\/(mounts|auth)\/\{path\}$|sys\/init|sys\/remount|rotate|rekey|revoke-(prefix|force)/,
    open: /\/login|sys\/(init|unseal|wrapping|generate-root|rekey|rotate|seal-status|mfa)|\/mfa\//,
  };
}

const stored = /\/(cubbyhole|kv1|kv2)\//;

function boundsOf(sender: Sender, { name }: Operation): Bounds {
  if (sender === 'stranger') return { bytes: 64 * KiB, values: 1000, levels: 490, elements: 900 };
  const bytes = stored.test(name) ? 32 * KiB * KiB : 2 * KiB * KiB;
  return { bytes, values: 50_000, levels: 490, elements: 10_000 };
}
