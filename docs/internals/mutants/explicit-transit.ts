import { gone, ignored, never, type Planted, texts } from './engines';

const cipher = texts('transit/cipher');
const encryption = texts('transit/encrypt');
const key = texts('transit/key');
const signature = texts('transit/signature');
const versionText = texts('transit/version-text');
const neverInKeys = never('transit/keys');
const neverInSignature = never('transit/signature');

/** Mutants of the rows of transit. */
export const explicitOfTransit: Planted = {
  'E1.1': [
    ...versionText(['version < key.min_decryption_version', 'false']),
    ...cipher(["versionText(key_version, bytes.toString('base64'))", "versionText(1, bytes.toString('base64'))"]),
    { of: 'answer of write transit rewrap/:name', part: 'key_version', how: 'other' },
    ...gone('write transit decrypt/:name'),
  ],
  'E1.2': cipher(["item.associated_data ?? ''", "''"], ["decodeBase64(item.context ?? '')", "Buffer.from('any')"]),
  'E1.3': cipher(
    ['associated.length === 0 ? nonceKey : keyOfAssociated()', 'nonceKey'],
    ["createHmac('sha256', key).update(plaintext).digest().subarray(0, nonceBytes)", 'publicRandom(nonceBytes)'],
    [
      'key.convergent_encryption ? [cipherKey, createSecretKey(both.subarray(kind.keyBytes))] : [cipherKey]',
      '[cipherKey]',
    ],
  ),
  'E1.4': texts('transit/keys')([
    'rotated(requireRotatable(params.name, usable(key)), newVersion)',
    'rotated(found, newVersion)',
  ]),
  'E1.5': encryption(
    ['(await findKey(storage, params.name)) !== undefined', 'true'],
    ['await upsertDisabled(storage)', 'false'],
    ['Boolean(items[0]!.context)', 'false'],
    ['decodeBase64(items[0]!.plaintext!)', 'undefined'],
  ),
  'E1.6': [
    ...never('transit/batch')(
      'failures === items.length',
      'code >= 200 && code <= 599',
      'Boolean(context) !== first',
      'several.length === 0',
      'required && item[required] == null',
    ),
    ...texts('transit/batch')([
      '{ ...failed, error: error.message, reference }',
      '{ ...failed, error: error.message }',
    ]),
  ],
  'E1.7': [
    ...neverInKeys(
      'version > latest',
      'version < 0',
      'encryption > 0 && encryption < decryption',
      'key.min_available_version > encryption',
      'key.min_available_version > decryption',
      'least < key.min_available_version',
      'key.min_encryption_version === 0',
    ),
    ...versionText(
      ['requestedVersion < key.min_encryption_version || !key.versions[requestedVersion]', 'false'],
      ['requestedVersion < 0', 'false'],
    ),
    ...ignored('write transit keys/:name/config', 'min_encryption_version', 'min_decryption_version'),
  ],
  'E1.8': [
    ...texts('transit/keys')(["key.deletion_allowed ? null : problem('deletion is not allowed for this key')", 'null']),
    ...key(["key.soft_deleted ? refuse('refusing to use soft-deleted key') : key", 'key']),
    ...gone('write transit keys/:name/soft-delete-restore', 'delete transit keys/:name'),
  ],
  'E1.9': encryption(
    ["form === 'plaintext' ? { ...wrapped, plaintext: dataKey.toString('base64') } : wrapped", 'wrapped'],
    [
      "form === 'plaintext' ? { ...wrapped, plaintext: dataKey.toString('base64') } : wrapped",
      "{ ...wrapped, plaintext: dataKey.toString('base64') }",
    ],
    ["keyBytes.get(bits) ?? refuse('invalid bit length')", 'keyBytes.get(bits) ?? 32'],
  ),
  'E1.10': [
    ...never('transit/make-key')(
      'derived && !derives(type)',
      "convergent_encryption && kindOf(type).family !== 'aead'",
      'seconds !== 0 && seconds < hourSeconds',
    ),
    ...neverInKeys('input.convergent_encryption && !input.derived', "input.key_size !== 0 && type !== 'hmac'"),
    ...texts('transit/key-type')(['bytes >= hmacBytes.least && bytes <= hmacBytes.most', 'true']),
    ...never('transit/cipher')('!encrypts(type)'),
    ...never('transit/version-text')('version > key.latest_version'),
  ],
  'E1.11': texts('transit/material')([
    "randomBytes(kind.keyBytes).toString('base64')",
    "Buffer.alloc(kind.keyBytes).toString('base64')",
  ]),
  'E2.1': signature(
    ["scheme.marshaling === 'jws' ? compact : derOfCompact(kind.curve, compact)", 'derOfCompact(kind.curve, compact)'],
    ["scheme.marshaling === 'jws' ? 'base64url' : 'base64'", "'base64'"],
    ["verify(hash.digest, input, { key: publicKey, dsaEncoding: 'ieee-p1363' }, compact)", 'true'],
    ['verifyDigest(kind.curve, publicKey, input, compact)', 'true'],
  ),
  'E2.2': [
    ...signature(
      ["salt === 'hash'", 'false'],
      ['salt > longestSalt(bits, hash)', 'false'],
      ['bits / 8 - bytes - 2', 'bits / 8 - bytes - 3'],
      ['verifyLater(hash!.digest, input, keyed, signature)', 'true'],
      ['verifyDigestInfo(publicKey, digestInfo(hash, input), signature)', 'true'],
    ),
    ...texts('transit/rsa-digest')(
      ['saltBytes !== undefined && salt.length !== saltBytes', 'false'],
      ['timingSafeEqual(sum, pssHash(hash, digest, salt))', 'true'],
    ),
  ],
  'E2.3': signature(
    ['verify(null, input, ed25519Public(key, material, context), signature)', 'true'],
    ["kind.family === 'ed25519' && key.derived", 'false'],
  ),
  'E2.4': [
    ...texts('transit/hmac-text')(['sent.length === expected.length && timingSafeEqual(sent, expected)', 'true']),
    ...texts('transit/hash')([
      'hashes.get(name) ?? refuse(`unsupported algorithm ${JSON.stringify(name)}`)',
      "hashes.get('sha2-256')!",
    ]),
    ...texts('transit/sign')(['{ valid: false }', '{}']),
  ],
  'E2.5': texts('transit/sign')(
    ['{ key_version: 0 }', '{}'],
    ["refuse(\"elements of batch_input must all provide 'signature' or all provide 'hmac'\")", 'undefined'],
  ),
  'E2.6': [
    ...texts('transit/hash')(['randomBytes(count)', 'randomBytes(count + 1)']),
    ...texts('transit/hash-name')([
      'createHash(digest).update(input).digest()',
      "createHash('sha1').update(input).digest()",
    ]),
    ...ignored('write transit hash', 'algorithm', 'format'),
  ],
  'E2.7': [
    ...neverInSignature(
      "!hash && words.hash_algorithm !== 'none'",
      "marshaling !== 'asn1' && marshaling !== 'jws'",
      "padding !== 'pss' && padding !== 'pkcs1v15'",
      'bytes < -1',
    ),
    ...never('transit/hash')('count > mostRandomBytes', '!sources.includes(source)'),
    ...never('transit/version-text')('requestedVersion > key.latest_version'),
  ],
  'E2.8': [
    ...signature(["hash || (prehashed && padding === 'pkcs1v15')", 'hash']),
    ...texts('transit/rsa-digest')([
      'timingSafeEqual(found, Buffer.concat([Buffer.of(0, 1), padding, Buffer.of(0), info]))',
      'true',
    ]),
  ],
  'E3.1': [
    ...never('transit/backup')('found && !input.force'),
    ...texts('transit/backup-text')(
      ['number <= key.latest_version', 'number < key.latest_version'],
      ["whole('latest_version')", '1'],
    ),
  ],
  'E3.2': [
    ...never('transit/export')("!found.exportable && kind !== 'public-key' && kind !== 'certificate-chain'"),
    ...texts('transit/keys')(['key.exportable || rules.exportable', 'rules.exportable']),
    ...never('transit/backup')('!found.exportable', '!found.allow_plaintext_backup'),
    ...texts('transit/export')([
      "accepted.includes(number) ? [number] : refuse('version does not exist or cannot be found')",
      '[1]',
    ]),
  ],
  'E3.3': [
    ...key(['!key.imported_key || key.imported_key_allow_rotation', 'true']),
    ...texts('transit/imported-key')([
      'hashNames.includes(name.toUpperCase()) ? name.toLowerCase() : refuse(`unknown hash function: ${name}`)',
      "'sha256'",
    ]),
    ...gone('write transit keys/:name/import_version'),
  ],
  'E3.4': [
    ...never('transit/byok')('!found.exportable', "kindOf(destination.type).family !== 'rsa'"),
    ...gone('read transit byok-export/:destination/:source/:version'),
  ],
  'E3.5': [
    ...texts('transit/derive')(['diffieHellman({ privateKey, publicKey: peer })', 'randomBytes(32)']),
    ...never('transit/derive')(
      'peer.asymmetricKeyDetails?.namedCurve !== publicKey.asymmetricKeyDetails?.namedCurve',
      '!peer_public_key',
    ),
    ...texts('transit/derive')(['refuse(`key ${JSON.stringify(params.name)} already exists`)', 'undefined']),
  ],
  'E3.6': texts('transit/import')([
    "key.imported_key ? key : refuse('the import_version endpoint can only be used with an imported key')",
    'key',
  ]),
  'E3.7': [
    ...never('transit/import')(
      'version.publicKey !== importedVersion.publicKey',
      '!newest.key && importedVersion.key && newest.publicKey === importedVersion.publicKey',
    ),
    ...signature([
      "material.privateKey ?? refuse('requested version for signing does not contain a private part')",
      'material.privateKey ?? material.publicKey',
    ]),
  ],
  'E3.8': [
    ...never('transit/imported-key')('bytes.length <= wrappedBytes', '!fits', '(publicExponent ?? 0n) < leastExponent'),
    ...texts('transit/imported-key')(
      ['bytes.length === kind.keyBytes', 'true'],
      [
        "refuse('the wrapped key cannot be decrypted: wrap it with the key from the wrapping_key endpoint')",
        'refuse(`the wrapped key cannot be decrypted: ${bytes[0]}`)',
      ],
    ),
  ],
  'E3.9': key(
    ['key.auto_rotate_period === 0 || key.soft_deleted || !rotates(key)', 'true'],
    ['Math.ceil(key.versions[key.latest_version]!.createdAtMs / 1000) + key.auto_rotate_period', '1'],
  ),
  'E3.10': [
    ...texts('transit/certificates')([
      'AsnConvert.parse(block.der, CertificationRequest).certificationRequestInfo',
      '{ subject: new Name(), attributes: new Attributes() }',
    ]),
    ...gone('write transit keys/:name/csr'),
  ],
  'E3.11': [
    ...never('transit/certificates')(
      'leaf.ca',
      'others.at(-1)?.ca === false',
      'others.some(({ ca }) => !ca)',
      '!leaf.publicKey.equals(publicKey)',
      'key.derived',
    ),
    ...ignored('write transit keys/:name/set-certificate', 'version'),
  ],
};
