import type { Mutant } from './mutant';

const whole = (of: string, how: string): Mutant => ({ of, part: '', how });
/** An expression of a source file, with its replacement. */
const text = (of: string, part: string, how: string): Mutant => ({ of, part, how });
const ignored = (of: string, ...parts: string[]): Mutant[] =>
  parts.map((part) => ({ of: `input of ${of}`, part, how: 'ignored' }));
/** An answer with one error. */
const shown = (how: string, of: string, ...parts: string[]): Mutant[] =>
  parts.map((part) => ({ of: `answer of ${of}`, part, how }));
const gone = (...of: string[]): Mutant[] => of.map((one) => whole(one, 'missing'));

const src = 'apps/secrets/src';
const cloudoneLogin = `${src}/backends/cloudone/login.ts`;
const resourceCheck = `${src}/backends/cloudone/resource-check.ts`;
const configRoot = `${src}/backends/cloudtwo/config-root.ts`;
const creds = `${src}/backends/cloudtwo/creds.ts`;
const legacy = `${src}/backends/cloudtwo/role-legacy.ts`;
const rotateRoot = `${src}/backends/cloudtwo/rotate-root.ts`;
const document = `${src}/openapi/document.ts`;
const pathEntry = `${src}/openapi/path-entry.ts`;
const jwt = 'packages/auth/src/jwt.ts';
const messages = `${src}/http/messages.ts`;
const bounds = ['service_principal_ids', 'group_ids', 'locations', 'subscription_ids', 'resource_groups', 'scale_sets'];
const bound = bounds.map((name) => `bound_${name}`);
const totp = 'identity mfa/method/totp';
const init = 'sys rekey-recovery-key/init';
const verify = 'sys rekey-recovery-key/verify';
const backup = 'sys rekey/recovery-key-backup';
const alias = 'identity group-alias';

/** The prefix of another version is equally valid. */
const prefixed = [text(`${src}/http/app.ts`, 'req.url.startsWith(prefix)', '/^\\/v\\d\\//.test(req.url)')];
const json = [
  text(messages, 'extra === undefined ? fixedHeaders : withExtra(extra)', "['Content-Type', 'text/plain']"),
];
const filtered = [text(document, 'access.grantsSome(entry.template, one, entry.sudo)', 'true')];
const verified = [
  text(cloudoneLogin, 'checkIdentity(role, who.oid, groups)', 'undefined'),
  text(jwt, 'claims.iss !== check.issuer', 'false'),
  text(jwt, '!audiencesOf(claims).includes(check.audience)', 'false'),
  text(jwt, 'exp <= now', 'false'),
];
const detailed = [
  text(pathEntry, 'operation.summary', 'undefined'),
  text(document, 'schemas[names.response] = operation.response', 'undefined'),
];

/** Mutants of the sentences of the secrets service's specification outside tables. */
export const proseOfSecrets: Readonly<Record<string, readonly Mutant[]>> = {
  'SP.3': json,
  'SP.4': [text(pathEntry, '`/${mount.path}${pattern}`', '`/${mount.type}/${pattern}`')],
  'SP.6': prefixed,
  'SP.7': gone(...['read', 'write', 'delete', 'list'].map((verb) => `${verb} cubbyhole :path*`)),
  'SP.8': [text(messages, "'LIST'", "'LISTS'"), text(messages, "query.get('list')", 'null')],
  'SP.10': filtered,
  'SP.11': gone('write cloudone login', 'write cloudone config', 'write cloudone role/:name'),
  'SP.12': gone(`write ${totp}`, `write ${totp}/admin-generate`, `write ${alias}`),
  'SP.13': gone(`write ${init}`, `write ${verify}`),
  'SP.14': [text(`${src}/pipeline/pipeline.ts`, "own ? `${own.key}/` : ''", "''")],
  'SP.15': gone('read scheduler creds/:name', 'write scheduler role/:name'),
  'SP.16': gone('read cloudtwo creds/:name', 'write cloudtwo roles/:name'),
  'SP.17': [
    text(`${src}/sdk/duration.ts`, 'Number(found[1]) * unitSeconds.get(found[2]!)!', 'Number(found[1])'),
    text(`${src}/sdk/duration.ts`, 'plainNumber.test(text)', 'false'),
  ],
  'SP.19': [
    text(document, "item['x-service-sudo'] = true", 'undefined'),
    text(document, "item['x-service-unauthenticated'] = true", 'undefined'),
    text(document, "item['x-service-create-supported'] = true", 'undefined'),
  ],
  'SP.20': filtered,
  'SP.21': detailed,
  'SP.22': shown('null', 'read cloudone config', 'tenant_id', 'resource', 'client_id', 'client_secret'),
  'SP.23': [
    ...ignored('write cloudone role/:name', ...bound),
    ...shown('null', 'read cloudone role/:name', ...bound),
    ...shown('constant', 'read cloudone role/:name', ...bound),
  ],
  'SP.24': [
    text(cloudoneLogin, 'checkIdentity(role, who.oid, groups)', 'undefined'),
    text(cloudoneLogin, '!principals.includes(oid)', 'false'),
    text(cloudoneLogin, '!groups.some((group) => bound.includes(group))', 'false'),
    text(resourceCheck, '!permits(role.bound_subscription_ids, where.subscription)', 'false'),
    text(resourceCheck, '!permits(role.bound_resource_groups, where.group)', 'false'),
    text(resourceCheck, '!permits(role.bound_locations, resource.location)', 'false'),
    text(resourceCheck, '!permits(role.bound_scale_sets, where.scaleSet)', 'false'),
  ],
  'SP.25': [
    ...ignored('write cloudone role/:name', 'max_ttl', 'max_jwt_exp'),
    ...shown('null', 'read cloudone role/:name', 'max_ttl', 'max_jwt_exp'),
  ],
  'SP.26': shown(
    'null',
    'read cloudone role/:name',
    ...['token_policies', 'max_ttl', 'max_jwt_exp', 'bound_resource_groups'],
  ),
  'SP.27': shown(
    'missing',
    `read ${totp}/:method_id`,
    ...['algorithm', 'digits', 'id', 'issuer', 'key_size', 'period', 'qr_size', 'skew', 'type', 'namespace'],
  ),
  'SP.28': [
    text(`${src}/kernel/mfa/methods.ts`, '{ has: lockedRow }', "{ has: '00000000-0000-0000-0000-000000000000' }"),
  ],
  'SP.29': [
    ...['null', 'other'].flatMap((how) => shown(how, `read ${verify}`, 'nonce', 't', 'n', 'progress')),
    ...shown('constant', `read ${verify}`, 'nonce', 'progress'),
  ],
  'SP.30': [...shown('missing', `read ${backup}`, 'nonce', 'keys'), ...shown('other', `read ${backup}`, 'nonce')],
  'SP.31': shown(
    'missing',
    `read ${alias}/id/:id`,
    ...['canonical_id', 'creation_time', 'id', 'last_update_time', 'merged_from_canonical_ids'],
    ...['metadata', 'mount_accessor', 'mount_path', 'mount_type', 'name'],
  ),
  'SP.32': [`write ${alias}`, `write ${alias}/id/:id`].flatMap((of) => shown('null', of, 'canonical_id', 'id')),
  'SP.33': shown('missing', 'read cubbyhole :path*', 'text', 'number', 'list', 'none'),
  'SP.34': [
    text(`${src}/kernel/storage/entries.ts`, 'rest.slice(0, slash + 1)', 'rest.slice(0, slash)'),
    ...shown('other', 'list cubbyhole :path*', 'keys'),
  ],
  'SP.35': ['null', 'constant'].flatMap((how) => shown(how, 'read scheduler config/access', 'address')),
  'SP.36': [
    ...ignored('write scheduler config/lease', 'ttl', 'max_ttl'),
    { of: 'input of write scheduler config/lease', part: 'max_ttl', how: 'left out means 77' },
    { of: 'input of write scheduler config/lease', part: 'ttl', how: 'left out means 77' },
  ],
  'SP.37': ['null', 'constant'].flatMap((how) => shown(how, 'read scheduler config/lease', 'ttl', 'max_ttl')),
  'SP.38': [
    ...ignored('write scheduler role/:name', 'policies', 'global', 'type'),
    { of: 'input of write scheduler role/:name', part: 'global', how: 'left out means true' },
    { of: 'input of write scheduler role/:name', part: 'type', how: 'left out means "management"' },
    text(`${src}/backends/scheduler/creds.ts`, 'absent.length > 0', 'false'),
    text(`${src}/backends/scheduler/role.ts`, "input.type === 'client' && input.policies.length === 0", 'false'),
  ],
  'SP.39': ['null', 'constant'].flatMap((how) =>
    shown(how, 'read scheduler role/:name', 'lease', 'policies', 'token_type'),
  ),
  'SP.40': ['null', 'constant'].flatMap((how) => shown(how, 'read scheduler creds/:name', 'accessor_id', 'secret_id')),
  'SP.41': [text(configRoot, "config.credential_source === 'static' && config.access_key !== ''", 'false')],
  'SP.42': [
    text(
      configRoot,
      'checkRegion(input.region)',
      "(checkRegion(input.region), /^(AKIA|ASIA)/.test(input.access_key) || checkEndpoint('access_key', 'not known'))",
    ),
  ],
  'SP.43': ['null', 'constant'].flatMap((how) =>
    shown(how, 'read cloudtwo config/root', 'access_key', 'region', 'iam_endpoint', 'sts_endpoint', 'max_retries'),
  ),
  'SP.44': [
    ...ignored('write cloudtwo config/lease', 'lease', 'lease_max'),
    text(`${src}/backends/cloudtwo/config-lease.ts`, "text === ''", 'false'),
    text(`${src}/backends/cloudtwo/config-lease.ts`, "text.includes('d')", 'false'),
  ],
  'SP.45': [
    text(
      `${src}/backends/cloudtwo/config-lease.ts`,
      '(await lease.find(storage)) ?? { lease: 0, lease_max: 0 }',
      '(await lease.find(storage)) ?? { lease: 60, lease_max: 60 }',
    ),
  ],
  'SP.46': ['null', 'other'].flatMap((how) => shown(how, 'read cloudtwo config/lease', 'lease', 'lease_max')),
  'SP.47': [
    text(legacy, 'fields.credential_type != null', 'false'),
    text(legacy, 'notBeside.find((field) => fields[field] != null)', 'undefined'),
  ],
  'SP.48': [
    ...['null', 'constant'].flatMap((how) =>
      shown(
        how,
        'read cloudtwo roles/:name',
        ...['policy_document', 'policy_arns', 'credential_types', 'role_arns', 'iam_groups'],
      ),
    ),
  ],
  'SP.49': [
    ...shown('missing', 'read cloudtwo creds/:name', 'access_key', 'secret_key', 'security_token', 'arn'),
    ...shown('null', 'write cloudtwo sts/:name', 'access_key', 'security_token'),
  ],
  'SP.51': [
    ...shown('true', `read ${init}`, 'started'),
    ...shown('false', `read ${init}`, 'started'),
    ...shown('missing', `read ${init}`, 'verification_nonce'),
    ...shown('other', `write ${verify}`, 'complete'),
  ],
  'SP.53': prefixed,
  'SP.54': json,
  'SP.56': [
    ...ignored(
      'write cloudone login',
      ...['role', 'jwt', 'subscription_id', 'resource_group_name', 'vm_name', 'vmss_name'],
    ),
    ...['role', 'jwt', 'subscription_id', 'resource_group_name'].map((name) =>
      text(cloudoneLogin, `need('${name}', input.${name})`, `(input.${name} ?? '')`),
    ),
    text(cloudoneLogin, 'input.vm_name && !input.vmss_name', 'input.vm_name'),
  ],
  'SP.57': verified,
  // A second secret is prevented twice, by a check and by the database, so a fault in only one of the two is not
  // noticed.
  'SP.58': [
    text(`${src}/kernel/mfa/secrets.ts`, 'await this.exists(method.id, entityId)', 'true'),
    ...gone(`write ${totp}/admin-destroy`),
  ],
  'SP.59': gone(`read ${backup}`, `delete ${backup}`),
  'SP.60': [
    ...ignored('read cloudtwo sts/:name', 'role_arn'),
    ...ignored('write cloudtwo sts/:name', 'role_arn', 'role_session_name'),
    ...ignored('write cloudtwo creds/:name', 'ttl'),
    text(creds, 'role.role_arns.includes(arn)', 'true'),
    text(creds, "role.role_arns.length === 1 ? role.role_arns[0]! : ''", "role.role_arns[0] ?? ''"),
    text(creds, 'input.ttl || role.default_sts_ttl || defaultTtlSeconds', 'input.ttl || defaultTtlSeconds'),
    text(creds, 'sessionName ?? madeName(config.username_template, type, call)', "sessionName ?? 'x1'"),
  ],
  'SP.61': [text(creds, "(type === 'iam_user') === (where === 'creds')", 'true')],
  'SP.62': [
    text(rotateRoot, "before.credential_source !== 'static' || !before.access_key || !before.secret_key", 'false'),
    text(rotateRoot, 'works(cloud, before, after, tryForMs)', 'true'),
    text(
      rotateRoot,
      'iam.send(new CreateAccessKeyCommand({ UserName }))',
      'iam.send(new CreateAccessKeyCommand({ UserName })).catch(() => ({ AccessKey: { AccessKeyId: config.access_key, SecretAccessKey: config.secret_key } }))',
    ),
  ],
};
