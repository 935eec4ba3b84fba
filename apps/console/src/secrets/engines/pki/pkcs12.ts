import { element, identifier, integer, none, octets, sequence } from './der';

const ids = {
  data: identifier('1.2.840.113549.1.7.1'),
  encryptedData: identifier('1.2.840.113549.1.7.6'),
  keyBag: identifier('1.2.840.113549.1.12.10.1.2'),
  certificateBag: identifier('1.2.840.113549.1.12.10.1.3'),
  x509: identifier('1.2.840.113549.1.9.22.1'),
  friendlyName: identifier('1.2.840.113549.1.9.20'),
  localKeyId: identifier('1.2.840.113549.1.9.21'),
  pbes2: identifier('1.2.840.113549.1.5.13'),
  pbkdf2: identifier('1.2.840.113549.1.5.12'),
  hmacSha256: identifier('1.2.840.113549.2.9'),
  aes256: identifier('2.16.840.1.101.3.4.1.42'),
  sha256: identifier('2.16.840.1.101.3.4.2.1'),
};
const iterations = 100_000;
/**
 * A small number, because each iteration takes a call to the browser's cryptography. The content is protected by
 * `iterations` above, which is larger.
 */
const macIterations = 2048;

const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));
const explicit = (...parts: Uint8Array[]) => element(0xa0, ...parts);
const set = (...parts: Uint8Array[]) => element(0x31, ...parts);

/** Two bytes for each character. */
const bmp = (text: string) =>
  Uint8Array.from(
    Array.from({ length: text.length }, (_, at) => text.charCodeAt(at)).flatMap((code) => [code >> 8, code & 255]),
  );

/**
 * A private key (PKCS#8) and its certificates, the key's own certificate first, in one file that a password protects
 * (PKCS#12, RFC 7292).
 */
export async function pkcs12Of(
  {
    key,
    certificates,
    name,
  }: { readonly key: Uint8Array; readonly certificates: readonly Uint8Array[]; readonly name: string },
  password: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const attributes = set(
    sequence(ids.localKeyId, set(octets(Uint8Array.of(1)))),
    sequence(ids.friendlyName, set(element(0x1e, bmp(name)))),
  );
  const shrouded = await encrypted(key, password);
  const keyBag = sequence(ids.keyBag, explicit(sequence(shrouded.algorithm, octets(shrouded.bytes))), attributes);
  const certificateBags = certificates.map((der, at) =>
    sequence(
      ids.certificateBag,
      explicit(sequence(ids.x509, explicit(octets(der)))),
      ...(at === 0 ? [attributes] : []),
    ),
  );
  const bags = await encrypted(sequence(...certificateBags), password);
  const content = sequence(
    sequence(
      ids.encryptedData,
      explicit(sequence(integer(0), sequence(ids.data, bags.algorithm, element(0x80, bags.bytes)))),
    ),
    sequence(ids.data, explicit(octets(sequence(keyBag)))),
  );
  return sequence(integer(3), sequence(ids.data, explicit(octets(content))), await macOf(content, password));
}

/** Encrypts with AES-256 and a key from the password (PBES2, RFC 8018). */
async function encrypted(bytes: Uint8Array, password: string) {
  const [salt, iv] = [random(16), random(16)];
  const base = await crypto.subtle.importKey('raw', new TextEncoder().encode(password), 'PBKDF2', false, ['deriveKey']);
  const key = await crypto.subtle.deriveKey(
    { name: 'PBKDF2', hash: 'SHA-256', salt, iterations },
    base,
    { name: 'AES-CBC', length: 256 },
    false,
    ['encrypt'],
  );
  const algorithm = sequence(
    ids.pbes2,
    sequence(
      sequence(ids.pbkdf2, sequence(octets(salt), integer(iterations), sequence(ids.hmacSha256, none))),
      sequence(ids.aes256, octets(iv)),
    ),
  );
  const sealed = await crypto.subtle.encrypt({ name: 'AES-CBC', iv }, key, Uint8Array.from(bytes));
  return { algorithm, bytes: new Uint8Array(sealed) };
}

/** Repeats bytes to a whole number of blocks of SHA-256. */
const blocks = (bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length: Math.ceil(bytes.length / 64) * 64 }, (_, at) => bytes[at % bytes.length]!);

/** The integrity of the file, with the key derivation of RFC 7292, appendix B. */
async function macOf(content: Uint8Array<ArrayBuffer>, password: string): Promise<Uint8Array> {
  const salt = random(16);
  let key = Uint8Array.from([...new Uint8Array(64).fill(3), ...blocks(salt), ...blocks(bmp(`${password}\0`))]);
  for (let round = 0; round < macIterations; round++) key = new Uint8Array(await crypto.subtle.digest('SHA-256', key));
  const hmac = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const mac = new Uint8Array(await crypto.subtle.sign('HMAC', hmac, content));
  return sequence(sequence(sequence(ids.sha256, none), octets(mac)), octets(salt), integer(macIterations));
}
