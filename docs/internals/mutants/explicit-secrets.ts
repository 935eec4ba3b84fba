import type { Mutant } from './mutant';

const whole = (of: string, how: string): Mutant => ({ of, part: '', how });
/** An expression of a source file, with its replacement. */
const text = (of: string, part: string, how: string): Mutant => ({ of, part, how });

const src = 'apps/secrets/src';
const cloudoneConfig = `${src}/backends/cloudone/config.ts`;
const cloudoneLogin = `${src}/backends/cloudone/login.ts`;
const authorize = `${src}/pipeline/authorize.ts`;
const creds = `${src}/backends/cloudtwo/creds.ts`;
const jwt = 'packages/auth/src/jwt.ts';
const document = `${src}/openapi/document.ts`;
const methodConfig = `${src}/kernel/mfa/method-config.ts`;
const methods = `${src}/kernel/mfa/methods.ts`;
const pathEntry = `${src}/openapi/path-entry.ts`;
const rekey = `${src}/kernel/seal/rekey.ts`;
const roleRules = `${src}/backends/cloudtwo/role-rules.ts`;
const rotateRoot = `${src}/backends/cloudtwo/rotate-root.ts`;
const tokenName = `${src}/backends/scheduler/token-name.ts`;
const userName = `${src}/backends/cloudtwo/user-name.ts`;
const totp = 'identity mfa/method/totp';
const init = 'sys rekey-recovery-key/init';

const tokenInLogin = ['policies', 'ttlSeconds', 'boundCidrs', 'numUses', 'type'].map((part) => ({
  of: 'answer of write cloudone login',
  part,
  how: 'missing',
}));

/** Mutants for conformance rows of the secrets service that name no declaration, such as states, errors and limits. */
export const explicitOfSecrets: Readonly<Record<string, readonly Mutant[]>> = {
  'S2.1': [text(document, "'3.0.2'", "'2.0'")],
  'S2.2': [
    text(document, "'Keystead secrets service'", 'undefined'),
    text(document, "'HTTP API of the secrets and identity service.'", 'undefined'),
    text(document, 'this.source.version', 'undefined'),
    text(document, "{ name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' }", 'undefined'),
  ],
  'S2.3': [text(document, 'sorted(paths)', '{}'), text(document, 'entry.description', 'undefined')],
  'S3.1': [text(cloudoneConfig, '!tenantId', 'false')],
  'S3.2': [text(cloudoneConfig, '!resource', 'false')],
  'S6.2': [text(methodConfig, "config.issuer !== ''", 'true')],
  'S13.1': [text(roleRules, 'role.credential_types.length === 0', 'false')],
  'S14.1': [
    text(rekey, '!(await this.ceremony.begin(state))', '(await this.ceremony.begin(state), false)'),
    whole(`write ${init}`, 'missing'),
  ],
  'S14.2': [text(rekey, 'state?.given.length ?? 0', '0')],
  'S14.3': [text(rekey, 'next.given.length < required', 'true'), text(rekey, 'next.given.length < required', 'false')],
  'S14.4': [text(rekey, 'state?.pending?.nonce', 'undefined'), text(rekey, 'request.requireVerification', 'false')],
  'S14.5': [whole(`delete ${init}`, 'missing'), text(rekey, 'this.ceremony.cancel()', 'Promise.resolve()')],
  'S14.6': [text(rekey, 'pending?.given.length ?? 0', '0')],
  'S14.7': [
    text(rekey, 'next.pending!.given.length < state.threshold', 'true'),
    text(rekey, 'await this.takeIntoForce(tx, key, state, pending.marks)', 'undefined'),
  ],
  'S14.8': [
    text(
      rekey,
      'state.pending ? { ...state, pending: { ...state.pending, nonce: randomUUID(), given: [] } } : state',
      'state',
    ),
  ],
  'S14.9': [text(rekey, 'this.ceremony.cancel()', 'Promise.resolve()')],
  'S23.1': [whole('read scheduler role/:name', 'answers where nothing is')],
  'S23.2': [
    whole('read cloudtwo roles/:name', 'answers where nothing is'),
    whole('delete cloudtwo roles/:name', 'answers where nothing is'),
  ],
  'S23.3': [whole('delete scheduler role/:name', 'missing')],
  'S23.4': [text(userName, 'name === undefined || name.length > limit', 'false')],
  'S23.5': [text(methods, '{ has: lockedRow }', "{ has: '00000000-0000-0000-0000-000000000000' }")],
  'S23.6': [
    // Returns an existing record for a key that was never created.
    text(
      rotateRoot,
      'iam.send(new CreateAccessKeyCommand({ UserName }))',
      'iam.send(new CreateAccessKeyCommand({ UserName })).catch(() => ({ AccessKey: { AccessKeyId: config.access_key, SecretAccessKey: config.secret_key } }))',
    ),
  ],
  'S23.7': [whole('list cubbyhole :path*', 'answers where nothing is')],
  'S23.8': [
    text(`${src}/kernel/seal/shares.ts`, 'threshold > shares', 'false'),
    text(rekey, 'pgpKeys.length > 0 && pgpKeys.length !== shares', 'false'),
  ],
  'S23.9': [text(rekey, 'nonce !== state.nonce', 'false')],
  'S24.1': [
    text(tokenName, '(minor === 8 && patch <= 3)', '(minor === 8 && patch <= 4)'),
    text(tokenName, 'old ? shortNames : longNames', 'longNames'),
    text(tokenName, 'limitBytes - unique.length - 1', 'limitBytes - unique.length'),
  ],
  'S24.2': [text(userName, "type === 'IAM' ? who : { displayName: '', role: '' }", "{ displayName: '', role: '' }")],
  'S24.3': [text(userName, "type === 'IAM' ? who : { displayName: '', role: '' }", 'who')],
  'S24.4': [text(creds, 'normalise(sessionName).slice(0, sessionNameLimit)', 'normalise(sessionName)')],
  'S24.5': [
    text(creds, 'input.ttl || role.default_sts_ttl || defaultTtlSeconds', 'input.ttl || role.default_sts_ttl || 1800'),
  ],
  'S24.6': [{ of: `input of write ${totp}`, part: 'max_validation_attempts', how: 'left out means 6' }],
  'S24.7': [text(methodConfig, 'methodRules.digits.enum.includes(config.digits)', 'true')],
  'S24.8': [text(methodConfig, 'methodRules.skew.enum.includes(config.skew)', 'true')],
  'S24.9': [text(rekey, '!(await this.ceremony.begin(state))', '(await this.ceremony.begin(state), false)')],
  'SA.1': [text(`${src}/http/messages.ts`, 'ownValue ?? familyValue', 'familyValue')],
  'SA.2': [
    text(cloudoneLogin, 'checkIdentity(role, who.oid, groups)', 'undefined'),
    text(jwt, 'claims.iss !== check.issuer', 'false'),
    text(jwt, '!audiencesOf(claims).includes(check.audience)', 'false'),
    text(jwt, 'exp <= now', 'false'),
  ],
  'SA.3': tokenInLogin,
  'SA.4': [whole(init, 'in every namespace')],
  'SA.5': [
    text(document, "item['x-service-sudo'] = true", 'undefined'),
    text(document, "item['x-service-unauthenticated'] = true", 'undefined'),
    text(document, 'entry.free', 'true'),
  ],
  'SA.6': [{ of: 'input of write scheduler config/access', part: 'token', how: 'ignored' }],
  'SA.7': [text(authorize, '!decision.allowed', 'false'), text(authorize, 'bearer?.access.root', 'true')],
  'SV.1': [text(`${src}/http/app.ts`, 'req.url.startsWith(prefix)', '/^\\/v\\d\\//.test(req.url)')],
  'SV.2': [text(document, "'3.0.2'", "'3.0.3'"), text(document, 'this.source.version', 'undefined')],
  'SV.3': [
    text(pathEntry, 'operation.summary', 'undefined'),
    text(pathEntry, '[tagOf(mount)]', '[]'),
    text(document, 'schemas[names.response] = operation.response', 'undefined'),
    text(document, 'distinct(operation.id, ids)', 'entry.description'),
  ],
};
