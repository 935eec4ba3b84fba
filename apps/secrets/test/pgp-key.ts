import { generateKey } from 'openpgp';

/** A new public key, armoured. */
export async function newPublicKey(): Promise<string> {
  return (await generateKey({ userIDs: [{ name: 'holder' }], format: 'armored' })).publicKey;
}
