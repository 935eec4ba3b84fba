import { beforeAll, describe, expect, it } from '@jest/globals';
import { type JsonSchema, jsonSchema } from '../src/openapi/json-schema';
import { isReading } from '../src/sdk/call';
import { startSecrets } from './start-secrets';
import { authOf, everyVisit, mountEveryKind, type Visit } from './visits';

/** Names of fields that contain credentials in answers. */
const telling =
  /(^|_)(token|secret|secret_id|secret_key|password|otp|barcode|recovery_codes|unlock_key|keys|keys_base64)$/;

const elsewhere = 'of another system, by which this service asks there: it is never given back';
const random = 'random text, which opens nothing until it is used somewhere';
const withSession = 'leased to the token of the session, and ended with it';
const publicKeys = 'times and public keys';
const proof = 'a proof that is shown to be judged';

/** Operations with a token that show or accept credentials without step-up, and the reason. */
const exempt: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'write database/config/:name': elsewhere,
    'read database/creds/:name': withSession,
    'read database/static-creds/:name': 'is kept here, as the secrets of kv are',
    'write cloudone/config': elsewhere,
    'write cloudtwo/config/root': elsewhere,
    'write scheduler/config/access': elsewhere,
    'write jwt/config': elsewhere,
    'write oidc/config': elsewhere,
    'write kubernetes/config': elsewhere,
    'write kubernetes/creds/:name': withSession,
    'write ldap/config': elsewhere,
    'write aws/config/client': elsewhere,
    'read cloudone/config': 'a mask in its place',
    'read cloudtwo/creds/:name': withSession,
    'write cloudtwo/creds/:name': withSession,
    'read cloudtwo/sts/:name': withSession,
    'write cloudtwo/sts/:name': withSession,
    'read scheduler/creds/:name': withSession,
    'read system/policies/password/:name/generate': random,
    ...Object.fromEntries(
      [
        'rekey/recovery-key-backup',
        'rekey-recovery-key/backup',
        'rekey/backup',
        'rotate/recovery/backup',
        'rotate/root/backup',
      ].map((at) => [`read system/${at}`, 'encrypted for their holders']),
    ),
    'read system/generate-root-token/attempt': 'shows neither again: both stay empty',
    'read identity/mfa/method/:method_id': 'how many there are',
    'read identity/mfa/method/totp/:method_id': 'how many there are',
    'read system/plugins/catalog': 'names of kinds',
    'read approle/role/:role_name': 'whether one is needed',
    'read kubernetes/config': 'public keys',
    'write approle/role/:role_name/secret-id/lookup': proof,
    'write approle/role/:role_name/secret-id/destroy': proof,
    'delete approle/role/:role_name/secret-id/destroy': proof,
    'write identity/oidc/introspect': proof,
    'write totp/code/:name': proof,
    'write transit/keys/:name': publicKeys,
    'write transit/keys/:name/rotate': publicKeys,
    'delete transit/keys/:name/soft-delete': publicKeys,
    'write transit/keys/:name/soft-delete-restore': publicKeys,
    'write transit/encrypt/:name': 'a text, of which nothing is kept',
    'write pki/revoke-with-key': proof,
    'write system/wrapping/rewrap': proof,
    'write system/capabilities': proof,
    'write system/capabilities-self': proof,
    'write system/policies/explain': proof,
    'write system/namespaces/api-lock/unlock': proof,
    'write system/namespaces/api-lock/unlock/:path*': proof,
    ...Object.fromEntries(
      ['rekey-recovery-key', 'rekey', 'rotate/recovery', 'rotate/root'].map((at) => [
        `write system/${at}/check`,
        proof,
      ]),
    ),
    'read token/lookup': proof,
    ...Object.fromEntries(
      ['lookup', 'renew', 'renew-self', 'revoke', 'revoke-orphan'].map((at) => [`write token/${at}`, proof]),
    ),
  }),
);

function namesIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const {
    properties = {},
    anyOf = [],
    items,
  } = schema as { properties?: JsonSchema; anyOf?: unknown[]; items?: unknown };
  return [
    ...Object.keys(properties),
    ...[...Object.values(properties), ...anyOf, items].flatMap((inner) => namesIn(inner)),
  ];
}

/** The credentials that an operation shows or accepts, by name. */
function credentialsOf({ verb, operation: { output, input } }: Visit): string[] {
  const shown = output === undefined ? [] : namesIn(jsonSchema(output, 'output')).filter((name) => telling.test(name));
  const { properties = {} } = (input === undefined ? {} : jsonSchema(input, 'input')) as { properties?: JsonSchema };
  const taken = Object.entries(properties).filter(([, field]) => (field as JsonSchema).format === 'password');
  // In listings, `keys` are names.
  return [...shown.filter((name) => name !== 'keys' || !isReading(verb)), ...taken.map(([name]) => name)];
}

describe('an operation that creates credentials which outlive a session', () => {
  const secrets = startSecrets();
  let visits: (Visit & { readonly kind: string; readonly credentials: readonly string[] })[] = [];

  beforeAll(async () => {
    await mountEveryKind(secrets);
    await secrets.root.write('sys/auth/oidc', { type: 'oidc' }).expect(204);
    const types = new Map(
      [...secrets.service.kernel.mounts.all()].flatMap(({ type, backend }) =>
        backend.paths.map((one) => [one, type] as const),
      ),
    );
    visits = everyVisit(secrets)
      .filter((visit) => authOf(visit) === 'token')
      .map((visit) => ({
        ...visit,
        kind: `${visit.verb} ${types.get(visit.declared)}/${visit.declared.pattern}`,
        credentials: credentialsOf(visit),
      }));
  });

  it('asks people at the console for a confirmation, or is listed with a reason', () => {
    const found = visits.filter(({ credentials }) => credentials.length > 0);
    expect(found.length).toBeGreaterThan(20);
    const silent = found.filter(({ kind, operation }) => !operation.stepUp && !exempt.has(kind));
    expect([...new Set(silent.map(({ kind, credentials }) => `${kind}: ${credentials}`))]).toEqual([]);
  });

  it('is exempt only if the rule would apply to it', () => {
    const needed = new Set(
      visits.filter((one) => one.credentials.length > 0 && !one.operation.stepUp).map(({ kind }) => kind),
    );
    expect([...exempt.keys()].filter((kind) => !needed.has(kind))).toEqual([]);
  });

  it('is declared: creating a token in an undeclared operation is a fault', async () => {
    const tokens = [...secrets.service.kernel.mounts.all()].find(({ type }) => type === 'token')!;
    const declared = tokens.backend.paths.find(({ pattern }) => pattern === 'create')!;
    const write = declared.operations.write as { stepUp?: boolean };
    write.stepUp = false;
    try {
      await secrets.root.write('auth/token/create', {}).expect(500);
    } finally {
      write.stepUp = true;
    }
    await secrets.root.write('auth/token/create', {}).expect(200);
  });
});
