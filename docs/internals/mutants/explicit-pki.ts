import { gone, ignored, never, type Planted, texts } from './engines';

const ca = texts('pki/ca');
const leaf = texts('pki/leaf');
const intermediate = texts('pki/intermediate');
const issue = texts('pki/issue');
const neverInNames = never('pki/allowed-names');
const neverInOrders = never('pki/acme/orders');
const neverInAccounts = never('pki/acme/accounts');
const neverInProbe = never('pki/acme/probe');

const ofCertificates: Planted = {
  'E4.1': [
    ...never('pki/intermediate')('own === 0'),
    ...issue(['!withoutRoots || !isSelfSigned(certificateOf(one))', 'true']),
    ...gone('write pki intermediate/set-signed'),
  ],
  'E4.2': intermediate(
    ['own === undefined ? undefined : own - 1', 'own'],
    ['most !== undefined && (requestedLength < 0 || requestedLength > most)', 'false'],
  ),
  'E4.3': intermediate(
    ['!input.use_csr_values', 'false'],
    ['takenOver(csr)', 'csr.extensions'],
    ['askedKeyId(input.skid) ?? keyIdOf(csr.publicKey)', 'keyIdOf(csr.publicKey)'],
  ),
  'E4.4': [
    ...never('pki/intermediate')('!selfIssued.isCa'),
    ...ca(["ca.default_issuer === '' || ca.default_follows_latest_issuer", "ca.default_issuer === ''"]),
    ...gone('write pki root/replace', 'write pki intermediate/cross-sign'),
  ],
  'E4.5': [
    ...never('pki/import')(
      '!read.isCa',
      "keyBlocks.length > 0 && (!keysAllowed || certificate !== '')",
      'text.length < 75',
    ),
    ...texts('pki/import')(['Object.values(ca.issuers).find((issuer) => issuer.certificate === text)', 'undefined']),
    ...ca(['fits ? { ...issuer, key_id: info.key_id } : issuer', 'issuer']),
  ],
  'E4.6': [
    ...never('pki/ca')("trimmed.toLowerCase() === 'default'"),
    ...texts('pki/keys')(['refuse(`Failed to Delete Key.  Key in Use by Issuer: ${user.issuer_id}`)', 'undefined']),
  ],
  'E4.7': never('pki/issuers')(
    '!behaviors.includes(after.leaf_not_after_behavior)',
    '!requested.every(isUsage)',
    'algorithm.keyType !== type',
  ),
  'E4.8': never('pki/generation')("name !== '' && issuerRef(ca, name)"),
  'E4.9': [
    { of: 'pki root', part: '', how: 'without sudo' },
    ...ca(['noted ? revokedIssuer(tx, issuer, noted.revokedAtMs) : issuer', 'issuer']),
    ...never('pki/issuers')("issuer.revokedAtMs !== undefined && after.has('issuing-certificates')"),
  ],
  'E4.10': [
    ...texts('pki/root')(
      ['keyUsageExtension(authorityUsages)', '[]'],
      ['basicConstraints(true, pathLength < 0 ? undefined : pathLength)', 'basicConstraints(true, 0)'],
    ),
    ...gone('read pki ca/pem'),
  ],
  'E5.1': [
    ...leaf(['authorityKeyId(ready.keyId)', '[]'], ['!role.no_store', 'false']),
    ...texts('pki/serial')(["text.trim().toLowerCase().replace(/[:-]/g, '')", "text.trim().replace(/[:-]/g, '')"]),
  ],
  'E5.2': [
    ...neverInNames(
      "domain.indexOf('*') !== domain.lastIndexOf('*') || reduced.includes('*')",
      '!role.allow_wildcard_certificates || isEmail',
      'at.length > 2',
      'isIP(name) !== 0 && !this.allowsAddress(name)',
      'isWildcard && !wildcardLabel.test(first)',
      '!this.fitsOne(globs, uri)',
      '!this.fitsOne(this.role.allowed_serial_numbers, text)',
      'control.test(text) || !this.fitsOne(globs, text.toLowerCase())',
    ),
    ...texts('pki/allowed-names')(
      ['role.allow_subdomains && below(allowed)', 'role.allow_subdomains && reduced.endsWith(allowed)'],
      [
        "networks && addresses.find((address) => !networks.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6'))",
        'undefined',
      ],
    ),
  ],
  'E5.3': [
    ...texts('pki/usages')(['keyUsageExtension(role.key_usage)', '[]'], ['purposeExtension(role)', '[]']),
    ...leaf(
      ['policyExtension(role.policy_identifiers)', '[]'],
      ['role.basic_constraints_valid_for_non_ca ? [basicConstraints(false)] : []', '[]'],
    ),
  ],
  'E5.4': [
    ...ignored('write pki roles/:name', 'allowed_domains', 'ttl'),
    ...ignored('patch pki roles/:name', 'max_ttl'),
    ...never('pki/role')(
      'input.max_ttl > 0 && input.ttl > input.max_ttl',
      '!isOid(id)',
      "folded.includes('disabled') && folded.length > 1",
    ),
    ...texts('pki/role')(['checkUsages(role)', 'undefined'], ['networksOf(role)', 'undefined']),
  ],
  'E5.5': texts('pki/role')(
    ['role.allow_globs_in_identity_templates || stars(filled) <= stars(text)', 'true'],
    ["filled === undefined || filled === ''", 'false'],
  ),
  'E5.6': never('pki/validity')(
    'ttl > maxTtl',
    "request.ttl && named !== ''",
    "issuer && ms > issuer.notAfterMs && issuer.behavior !== 'permit'",
    "issuer.behavior !== 'truncate'",
  ),
  'E5.7': [
    ...issue(['!ownExtensions.includes(extnID)', 'true']),
    ...texts('pki/requested-names')(
      ['role.use_csr_sans ? csr?.names : undefined', 'csr?.names'],
      ['role.use_csr_common_name && own?.commonName', 'own?.commonName'],
    ),
  ],
  'E5.8': [
    ...never('pki/csr')(
      '!isSignedWith({ content: Buffer.from(signed!), algorithm, signature: Buffer.from(signature) }, key)',
    ),
    ...never('pki/issue')(
      "role.key_type !== 'any' && role.key_type !== keyType",
      "keyType !== 'ed25519' && keyBits < least",
    ),
  ],
  'E5.9': leaf(['!role.no_store', 'true']),
  'E5.10': [
    ...never('pki/import-certificates')(
      "authority === ''",
      'found && found.der !== certificate.der',
      'seconds * 1000 > nowMs',
      'Object.values(ca.issuers).some(({ certificate }) => certificate === der)',
    ),
    ...texts('pki/import-certificates')(
      ['found.revokedAtMs === undefined && certificate.revokedAtMs !== undefined', 'false'],
      ['listRevocation(storage, nowMs, authority, last)', 'undefined'],
    ),
  ],
};

const ofRevocation: Planted = {
  'E6.1': texts('pki/revoke')([
    'noteRevoked(tx, authority, { serial, seconds: Math.floor(nowMs / 1000) })',
    'undefined',
  ]),
  'E6.2': texts('pki/crl-build')(
    ['(state?.number ?? 0) + 1', '1'],
    ['!(await isUnlisted(tx, authority, revoked))', 'true'],
  ),
  'E6.3': [
    ...never('pki/revoke')(
      '!publicDer(publicKey).equals(own)',
      "authority === ''",
      'text !== undefined && certificate !== undefined',
    ),
    ...texts('pki/revoke')(['String(internal.serial_number)', "''"]),
  ],
  'E6.4': [
    ...texts('pki/revoke')([
      'refuse(`adding issuer (id: ${issuer.issuer_id}) to its own CRL is not allowed`)',
      'undefined',
    ]),
    ...never('pki/revoke')('!isRoot && stored?.der === issuer.certificate'),
    ...ca(["issuer.usage.filter((one) => one !== 'issuing-certificates')", 'issuer.usage']),
  ],
  'E6.5': [
    ...never('pki/crl-config')('config.enable_delta && !config.auto_rebuild'),
    ...never('pki/crl-build')('isCompleteDue(state, config, nowMs)'),
    ...texts('pki/crl-build')(
      ["kind === 'delta' && state !== undefined", 'false'],
      ["config.auto_rebuild || authority === ''", 'false'],
    ),
  ],
  'E6.6': [
    ...texts('pki/ocsp')(
      ["'unknown'", "'good'"],
      ["revokedAtMs === undefined ? 'good' : { revokedAtMs }", "'good'"],
      ['config.ocsp_disable', 'false'],
      ["issuer.usage.includes('ocsp-signing')", 'true'],
    ),
    ...texts('pki/ocsp-answer')(['nonce && [nonce]', 'undefined']),
  ],
  'E6.7': never('pki/revoke')('stored.notAfterMs <= nowMs + 2000 && !allowExpired'),
  'E6.8': [
    ...never('pki/tidy-run')(
      '!chosen || endsAtMs + buffer * 1000 > nowMs',
      'removedRevoked + associated > 0 && !byClock',
    ),
    ...texts('pki/tidy-run')([
      'forgetRevoked(tx, authority, { serial, seconds: Math.floor(revokedAtMs / 1000) })',
      'undefined',
    ]),
  ],
};

const ofAcme: Planted = {
  'E7.1': [
    ...never('pki/acme/directory')('!config.enabled'),
    ...never('pki/acme/config')("config.enabled && (await mountAddress(storage)) === ''"),
  ],
  'E7.2': [
    ...texts('pki/acme/probe')(
      ["bytes.toString('latin1').trimEnd() === keyAuthorization", 'true'],
      ["records.some((parts) => parts.join('') === expected)", 'true'],
      ['Buffer.from(AsnConvert.parse(extension.extnValue.buffer, OctetString).buffer).equals(digest)', 'true'],
    ),
    ...texts('pki/acme/authorization')(["['dns-01']", "['dns-01', 'http-01']"]),
  ],
  'E7.3': [...neverInOrders("status !== 'ready'"), ...never('pki/acme/nonce')('(await tx.get(key)) !== undefined')],
  'E7.4': [
    ...neverInAccounts(
      'keyChange.account !== `${base}/account/${account.id}`',
      '!isObject(keyChange.oldKey) || thumbprintOf(readJwk(keyChange.oldKey).jwk) !== thumbprint',
      'inner.header.url !== url',
      'owner !== undefined',
    ),
    ...texts('pki/acme/accounts')(
      ["verifyJws(inner, key, 'the payload')", 'undefined'],
      ["status === 'deactivated' ? status : found.status", 'found.status'],
    ),
  ],
  'E7.5': [
    ...never('pki/acme/eab')('at !== url', 'thumbprintOf(inner.jwk) !== thumbprintOf(jwk)'),
    ...texts('pki/acme/eab')(
      ['!found || found.prefix !== prefix', '!found'],
      ["verifyMac(jws, Buffer.from(found.key, 'base64url'))", 'undefined'],
      ['bindingKeys.delete(tx, kid as string)', 'undefined'],
    ),
    ...neverInAccounts("sent === undefined && config.eab_policy !== 'not-required'"),
  ],
  'E7.6': [
    ...never('pki/acme/revocation')(
      '!isOwn',
      '!reasons.includes(reason as number)',
      'stored.revokedAtMs !== undefined',
    ),
    ...never('pki/acme/revocation')('order.identifiers.every((identifier) => provenNames.has(textOf(identifier)))'),
  ],
  'E7.7': [
    ...never('pki/acme/signed-request')(
      'header.url !== url',
      '(header.kid === undefined) === (header.jwk === undefined)',
      "by !== 'either' && by !== signedBy",
    ),
    ...texts('pki/acme/signed-request')(
      ['verifyJws(jws, key)', 'undefined'],
      ['account?.prefix === prefix', 'account'],
    ),
    ...never('pki/acme/jws')(
      'header.crit !== undefined || header.b64 !== undefined',
      'value.d !== undefined',
      '!algorithms.some((algorithm) => keyFits(key, algorithm))',
    ),
  ],
  'E7.8': [
    ...texts('pki/acme/orders')(['order?.account === account.id', 'order']),
    ...texts('pki/acme/challenges')(['found?.account === account.id', 'found']),
    ...neverInAccounts('call.params.id !== account.id'),
  ],
  'E7.9': [
    ...texts('pki/acme/orders')(['judgeIdentifiers(directory.role, identifiers)', 'undefined']),
    ...texts('pki/acme/ordered-request')(['checkKey(role, csr)', 'undefined']),
    ...never('pki/acme/ordered-request')(
      'requested.size !== ordered.size || ![...requested].every((name) => ordered.has(name))',
      'emails.length + uris.length + others.length > 0',
      'basic && AsnConvert.parse(basic.extnValue.buffer, BasicConstraints).cA',
    ),
    ...never('pki/acme/identifier')('texts.size !== all.length'),
  ],
  'E7.10': [
    ...neverInProbe("username !== '' || password !== ''"),
    ...texts('pki/acme/probe')(['Number(port || 80) === httpPort', 'true']),
  ],
  'E7.11': [
    ...neverInOrders('!order.identifiers.some((one) => names.has(textOf(one)))', 'other?.certificate'),
    ...texts('pki/acme/orders')(['!issuance || issuance.account !== order.account || !before', '!issuance || !before']),
    ...texts('pki/acme/renewal')(['notAfterMs - lifeMs / 3', 'notAfterMs + 1']),
  ],
  'E7.12': neverInOrders('unfinished.length + identifiers.length > mostUnfinished'),
};

/** Mutants of the rows of pki. */
export const explicitOfPki: Planted = { ...ofCertificates, ...ofRevocation, ...ofAcme };
