import { gone, ignored, never, type Planted, texts } from './engines';

const options = texts('ssh/options');
const principals = texts('ssh/principals');
const sign = texts('ssh/sign');
const creation = texts('database/creds');
const statements = texts('database/statements');
const accounts = texts('accounts/creds');

const ofSsh: Planted = {
  'E8.1': texts('ssh/certificate')(
    ["algorithm === 'default' ? 'rsa-sha2-256' : algorithm", "'rsa-sha2-256'"],
    ['ecHashes.get(curve.toString())!', "'sha256'"],
  ),
  'E8.2': [
    ...sign(
      ['now - role.not_before_duration', 'now'],
      ['(requestedTtl ?? role.ttl) || mount.defaultLeaseTtlSeconds', 'role.ttl || mount.defaultLeaseTtlSeconds'],
    ),
    ...principals(["isHost ? '' : defaultUser(call, role)", "''"]),
  ],
  'E8.3': [
    ...never('ssh/key-pair')("key.asymmetricKeyType === 'rsa'"),
    ...never('ssh/key-rules')('Object.hasOwn(rules, name)'),
    ...ignored('write ssh issue/:role', 'key_type'),
  ],
  'E8.4': [
    ...never('ssh/principals')('wrong !== undefined', 'allowed.length === 0', 'names.length === 0'),
    ...options(
      ["role.allowed_extensions === '*' ? [] : Object.keys(requested).filter((name) => !allowed.includes(name))", '[]'],
      ['allowed.length === 0 ? [] : Object.keys(requested).filter((name) => !allowed.includes(name))', '[]'],
    ),
    ...never('ssh/sign')(
      '!allowed',
      "requestedId !== '' && !role.allow_user_key_ids",
      'ttl > most && requestedTtl !== undefined',
    ),
    ...texts('ssh/key-rules')(['sizedNames.includes(name) ? sizes.includes(bits) : sizes.length > 0', 'true']),
  ],
  'E8.5': never('ssh/principals')('hidden.test(text)'),
  'E8.6': [
    ...principals(
      ['name.endsWith(`.${domain}`)', 'name.endsWith(domain)'],
      ['role.allow_bare_domains && name === domain', 'name === domain'],
    ),
    ...options(["kind === 'host'", 'false']),
    ...texts('ssh/certificate')(["kind === 'user' ? 1 : 2", '1']),
  ],
  'E8.7': sign(['Object.hasOwn(values, name) ? values[name]!() : all', 'all']),
  'E8.8': [
    ...principals(['filled === word || role.allow_commas_in_identity_templates', 'true']),
    ...options(['!role.default_extensions_template', 'true']),
    ...principals(['!default_user_template', 'true']),
  ],
  'E8.9': [
    ...texts('ssh/ca')([
      'isDefault || first ? newIssuer.issuer_id : ca.default_issuer',
      'first ? newIssuer.issuer_id : ca.default_issuer',
    ]),
    ...texts('ssh/issuers')(['Number(other.issuer_id === first) - Number(one.issuer_id === first)', '0']),
  ],
  'E8.10': [
    ...never('ssh/issuers')('publicLine(key) !== lineOf(type, blob)'),
    ...never('ssh/key-pair')('modulusLength < 2048'),
    ...texts('ssh/key-pair')(['(details?.modulusLength ?? 0) >= 2048', 'true']),
  ],
  'E8.11': texts('ssh/otp')(['tx.delete(entry)', 'undefined'], ['storage.delete(String(entry))', 'undefined']),
  'E8.12': texts('ssh/otp')(
    ['(await zeroAddressRoles(storage)).includes(name) || inNetworks(role, ip)', 'true'],
    ['(await zeroAddressRoles(storage)).includes(name) || inNetworks(role, ip)', 'inNetworks(role, ip)'],
    ['within(address, cidr_list) && !within(address, exclude_cidr_list)', 'within(address, cidr_list)'],
    ['!isAddress || !ipaddr.isValid(text) || /(^|\\.)0\\d/.test(text)', 'false'],
    ['ipaddr.process(text).toString()', 'text'],
  ),
};

const ofDatabase: Planted = {
  'E9.1': texts('database/config')(
    [
      'isSecret(connectionFields.input.shape[name as keyof typeof initially]) || !isShown(name, value)',
      '!isShown(name, value)',
    ],
    ['shownAddress(String(value))', 'value'],
    ['refuse(`${what}error verifying connection: ${error.message}`)', 'undefined'],
  ),
  'E9.2': [
    ...never('database/address')(
      'isIP(host) !== 0 && !usualReach.allows(host)',
      '!Number.isInteger(port) || port < 1 || port > 65_535',
    ),
    ...texts('database/address')(['!host || /^\\/|,|\\{\\{/.test(host)', '!host']),
    ...never('database/config')(
      'config.max_open_connections < 1 || config.max_open_connections > 100',
      "config.plugin_version !== ''",
    ),
  ],
  'E9.3': [{ of: 'apps/secrets/src/pipeline/parse-input.ts', part: 'changed === undefined', how: 'true' }],
  'E9.4': never('database/creds')('!globs.some((glob) => matcher.fits(glob, role))'),
  'E9.5': [
    ...texts('database/drivers/postgresql')(['`REASSIGN OWNED BY ${role} TO CURRENT_USER`', "'SELECT 1'"]),
    ...creation(
      ['nowMs + ttlSeconds * 1000', 'nowMs + ttlSeconds * 2000'],
      ["call('remove', revocation, wordsOf(name, nowMs))", 'undefined'],
    ),
  ],
  'E9.6': creation(
    ["call('renew', role.renew_statements, wordsOf(username, expiresAtMs))", 'undefined'],
    ['{ ttlSeconds: role.default_ttl, maxTtlSeconds: role.max_ttl }', '{ ttlSeconds: 60, maxTtlSeconds: 60 }'],
  ),
  'E9.7': [
    ...texts('database/drivers/postgresql')([
      "this.run(statements, words, 'ROLLBACK')",
      "this.run(statements, words, 'COMMIT')",
    ]),
    ...creation(["opened.call('remove', undo, wordsOf(name, nowMs))", 'Promise.resolve()']),
  ],
  'E9.8': [
    ...statements(['quote === "\'" || backticks', 'false'], ['unquoted.test(value)', 'true']),
    ...texts('database/user-name')(["text.replace(/[^A-Za-z0-9_.@+:-]/g, '_')", 'text']),
    ...creation(['credential_config.password_policy || config.password_policy', "''"]),
    ...never('database/drivers/postgresql')(
      "password !== undefined && this.config.password_authentication === 'scram-sha-256'",
    ),
  ],
  'E9.9': statements(
    ["char === ';'", 'false'],
    ['this.comment() || this.dollarQuoted()', 'this.dollarQuoted()'],
    ['/\\bEND\\b/i.test(scanner.plain)', 'false'],
    ['opens ? 1 : -1', '-1'],
    ['!this.dialect.dollars || /\\w$/.test(this.plain)', 'true'],
  ),
  'E9.10': texts('database/config')(
    ['before?.pending !== undefined && fields.password === undefined', 'false'],
    [
      '{ ...found, password, pending: undefined, rotatedAtMs, generation: newGeneration() }',
      '{ ...found, pending: undefined, rotatedAtMs, generation: newGeneration() }',
    ],
  ),
  'E9.11': [
    ...texts('database/static-record')(['isMissed ? dueAfter(role, nowMs) : undefined', 'undefined']),
    ...texts('database/rotation')(['set(nextUser(claimed), pending)', 'Promise.resolve()']),
    ...texts('database/static-role')(['Math.max(0, Math.round((role.dueAtMs - nowMs) / 1000))', '0']),
  ],
  'E9.12': [
    ...texts('database/static-record')([
      "role.fresh || role.second_username === '' || activeUser(role) !== role.username",
      'true',
    ]),
    ...never('database/static-role')(
      "second !== '' && second === username",
      'stored && second !== stored.second_username && activeUser(stored) !== username',
    ),
  ],
  'E9.13': texts('database/rotation')(['!found || missedWindow(found, call.nowMs) === undefined', 'false']),
};

const ofTotp: Planted = {
  'E10.1': [
    ...texts('totp/requested-key')([
      'request.generate ? base32(randomBytes(request.key_size)) : normalizedKey(request.key)',
      'base32(randomBytes(20))',
    ]),
    ...texts('totp/url')(
      ["after.length > 0 ? after.join(':') : label", 'label'],
      ["parameter('issuer') ?? (after.length > 0 ? before : undefined)", "parameter('issuer')"],
    ),
    ...texts('totp/backend')(
      ['(counter + 1) * key.period', 'counter * key.period'],
      ['durationText(key.period)', "'30s'"],
    ),
  ],
  'E10.2': texts('totp/key')(
    ['matchCounter(schemeOf(key), code, nowMs, key.skew)', 'matchCounter(schemeOf(key), code, nowMs, 0)'],
    ['matchCounter(schemeOf(key), code, nowMs, key.skew)', 'matchCounter(schemeOf(key), code, nowMs, 2)'],
  ),
  'E10.3': texts('totp/backend')(
    ['!input.generate || !input.exported', '!input.generate'],
    ['data({ account_name, algorithm, digits, issuer, period })', 'data({ ...key })'],
  ),
  'E10.4': texts('totp/key')(
    ['Object.hasOwn(usedCodes, code)', 'false'],
    ['untilMs > nowMs', 'false'],
    ['(counter + 1 + key.skew + periodsKept) * key.period * 1000', '(counter + 1 + key.skew) * key.period * 1000'],
  ),
  'E10.5': texts('totp/backend')([
    'call.guess(params.name.toLowerCase(), () => spendCode(storage, params.name, code, nowMs))',
    'spendCode(storage, params.name, code, nowMs)',
  ]),
  'E10.6': [
    ...never('totp/requested-key')(
      "sent.generate && sent.key !== ''",
      'request.key_size > mostKeyBytes',
      '/\\p{Cc}/u.test(request[name])',
      "request.generate && request[name] === ''",
    ),
    ...never('totp/url')("url.protocol !== 'otpauth:' || url.host.toLowerCase() !== 'totp'"),
    ...never('totp/backend')('code.trim() !== code || Buffer.byteLength(code) !== digits'),
  ],
};

const ofKubernetes: Planted = {
  'E11.1': accounts(
    ['input.audiences ?? role.token_default_audiences', '[]'],
    ['(input.ttl ?? role.token_default_ttl) || mount.defaultLeaseTtlSeconds', 'mount.defaultLeaseTtlSeconds'],
    [
      "existingAccount === '' ? objectsOf({ role, namespace, name, wholeCluster }) : []",
      'objectsOf({ role, namespace, name, wholeCluster })',
    ],
  ),
  'E11.2': [
    ...never('accounts/backend')('createdObjects.length > 0'),
    ...accounts(
      ["wholeCluster ? 'clusterrolebindings' : 'rolebindings'", "'rolebindings'"],
      ['makesRole ? name : role.kubernetes_role_name', 'name'],
      ['role.extra_annotations', '{}'],
    ),
  ],
  'E11.3': [
    ...never('accounts/backend')('createdObjects.length > 0'),
    ...texts('accounts/accounts-client')([
      'status !== 404 && (status < 200 || status > 299)',
      'status < 200 || status > 299',
    ]),
  ],
  'E11.4': [
    ...accounts(
      ["allowed.includes('*') || allowed.includes(namespace)", 'true'],
      ['labels && namespaceSelector(selector)(labels) ? namespace : no()', 'namespace'],
    ),
    ...never('accounts/creds')("wholeCluster && role.kubernetes_role_type === 'Role'"),
  ],
  'E11.5': [
    ...never('accounts/role')(
      "[account, bound, rules].filter((text) => text !== '').length !== 1",
      'role.token_max_ttl > 0 && role.token_default_ttl > role.token_max_ttl',
      '!Array.isArray(rules) || rules.length === 0 || !rules.every(isObject)',
      "name !== '' && !nameRule.test(name)",
    ),
    ...texts('accounts/role')(['checkTemplate(role.name_template)', 'undefined']),
  ],
  'E11.6': [
    ...texts('accounts/config')(['data(publicFields)', 'data({ ...stored })']),
    ...gone('read kubernetes-accounts config'),
  ],
};

/** Mutants of the rows of ssh, databases, one-time codes and Kubernetes. */
export const explicitOfLeases: Planted = { ...ofSsh, ...ofDatabase, ...ofTotp, ...ofKubernetes };
