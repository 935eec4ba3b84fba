import { constants, createCipheriv, publicEncrypt, randomBytes } from 'node:crypto';
import type { Making, World } from './at-once-examples';
import { root as authority } from './stand-ins/authority';

const text = 'aGVsbG8=';

/** A key wrapped with the wrapping key of a mount. */
export function wrapped(key: Buffer, wrappingKey: string, oaepHash = 'sha256'): string {
  const aes = randomBytes(32);
  const cipher = createCipheriv('id-aes256-wrap-pad', aes, Buffer.from('a65959a6', 'hex'));
  const outer = publicEncrypt({ key: wrappingKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash }, aes);
  return Buffer.concat([outer, cipher.update(key), cipher.final()]).toString('base64');
}

const broughtKey = async (world: World): Promise<{ ciphertext: string }> => {
  const { public_key } = (await world.root('GET', 'transit/wrapping_key')).data;
  return { ciphertext: wrapped(randomBytes(32), public_key) };
};

async function key(world: World, fields: object = {}): Promise<string> {
  const name = world.fresh();
  await world.root('POST', `transit/keys/${name}`, fields);
  return name;
}

const rsaKeys = new WeakMap<World, Promise<string>>();
/** RSA keys take long to make. */
function rsaKey(world: World): Promise<string> {
  const made = rsaKeys.get(world) ?? key(world, { type: 'rsa-2048' });
  rsaKeys.set(world, made);
  return made;
}

const ofKey =
  (body: (n: number) => object = () => ({}), fields: object = {}): Making =>
  async (world) => ({ at: { name: await key(world, fields) }, body });

const ofCiphertext: Making = async (world) => {
  const name = await key(world);
  const { ciphertext } = (await world.root('POST', `transit/encrypt/${name}`, { plaintext: text })).data;
  return { at: { name }, body: () => ({ ciphertext }) };
};

const hashed = { hash: 'sha2-512' };
const signing =
  (at: Readonly<Record<string, string>> = {}): Making =>
  async (world) => ({ at: { name: await rsaKey(world), ...at }, body: () => ({ input: text }) });
const verifying =
  (at: Readonly<Record<string, string>> = {}): Making =>
  async (world) => {
    const name = await rsaKey(world);
    const path = ['transit/sign', name, ...Object.values(at)].join('/');
    const { signature } = (await world.root('POST', path, { input: text })).data;
    return { at: { name, ...at }, body: () => ({ input: text, signature }) };
  };
const hashing =
  (at: Readonly<Record<string, string>>, body: object = { input: text }): Making =>
  () => ({ at, body: () => body });

const kept = { exportable: true, allow_plaintext_backup: true };
async function backup(world: World): Promise<{ name: string; body: () => object }> {
  const name = await key(world, kept);
  const { backup } = (await world.root('GET', `transit/backup/${name}`)).data;
  return { name, body: () => ({ backup, force: true }) };
}

/** How each writing operation of the engine transit is called. */
export const transitExamples: Readonly<Record<string, Making>> = {
  'write transit/keys/:name': (world) => ({ at: { name: world.fresh() }, body: () => ({}) }),
  'delete transit/keys/:name': async (world) => {
    const name = await key(world);
    const between = async () => {
      await world.root('POST', `transit/keys/${name}`, {});
      // Other callers may delete the key first.
      await world.root('POST', `transit/keys/${name}/config`, { deletion_allowed: true }).catch(() => {});
      return { status: 204 };
    };
    await between();
    return { at: { name }, also: [400], between };
  },
  'write transit/keys/:name/config': ofKey((n) => ({ auto_rotate_period: 3600 + n })),
  'write transit/keys/:name/rotate': ofKey(),
  'write transit/keys/:name/trim': async (world) => {
    const name = await key(world);
    await world.root('POST', `transit/keys/${name}/rotate`);
    const least = { min_decryption_version: 2, min_encryption_version: 2 };
    await world.root('POST', `transit/keys/${name}/config`, least);
    return { at: { name }, body: () => ({ min_available_version: 2 }) };
  },
  'delete transit/keys/:name/soft-delete': ofKey(),
  'write transit/keys/:name/soft-delete-restore': ofKey(),
  'write transit/keys/:name/import': async (world) => {
    const brought = await broughtKey(world);
    return { at: { name: world.fresh() }, body: () => brought, also: [400] };
  },
  'write transit/keys/:name/import_version': async (world) => {
    const name = world.fresh();
    const brought = await broughtKey(world);
    await world.root('POST', `transit/keys/${name}/import`, brought);
    return { at: { name }, body: () => brought };
  },
  'write transit/keys/:name/csr': async (world) => ({ at: { name: await rsaKey(world) } }),
  'write transit/keys/:name/set-certificate': async (world) => {
    const name = world.fresh();
    const leaf = authority('Acme Root').issue('web');
    const public_key = leaf.keys.publicKey.export({ type: 'spki', format: 'pem' });
    await world.root('POST', `transit/keys/${name}/import`, { type: 'ecdsa-p256', public_key });
    return { at: { name }, body: () => ({ certificate_chain: leaf.pem }) };
  },
  'write transit/encrypt/:name': (world) => ({ at: { name: world.fresh() }, body: () => ({ plaintext: text }) }),
  'write transit/decrypt/:name': ofCiphertext,
  'write transit/rewrap/:name': ofCiphertext,
  'write transit/datakey/plaintext/:name': ofKey(),
  'write transit/datakey/wrapped/:name': ofKey(),
  'write transit/sign/:name': signing(),
  'write transit/sign/:name/:hash': signing(hashed),
  'write transit/verify/:name': verifying(),
  'write transit/verify/:name/:hash': verifying(hashed),
  'write transit/hmac/:name': ofKey(() => ({ input: text })),
  'write transit/hmac/:name/:urlalgorithm': async (world) => ({
    at: { name: await key(world), urlalgorithm: 'sha2-512' },
    body: () => ({ input: text }),
  }),
  'write transit/hash': hashing({}),
  'write transit/hash/:urlalgorithm': hashing({ urlalgorithm: 'sha3-256' }),
  'write transit/random': hashing({}, {}),
  'write transit/random/:urlbytes': hashing({ urlbytes: '16' }, {}),
  'write transit/random/:source': hashing({ source: 'seal' }, {}),
  'write transit/random/:source/:urlbytes': hashing({ source: 'all', urlbytes: '16' }, {}),
  'write transit/restore': async (world) => ({ body: (await backup(world)).body }),
  'write transit/restore/:name': async (world) => {
    const { name, body } = await backup(world);
    return { at: { name }, body };
  },
  'write transit/derive-key/:name': async (world) => {
    const base_key_name = await key(world, { type: 'ecdsa-p256' });
    const fields = { base_key_name, peer_public_key: world.publicKey };
    return { at: { name: world.fresh() }, body: () => fields, also: [400] };
  },
  'write transit/config/keys': () => ({ body: () => ({ disable_upsert: false }) }),
  'write transit/cache-config': () => ({ body: () => ({ size: 20 }) }),
};
