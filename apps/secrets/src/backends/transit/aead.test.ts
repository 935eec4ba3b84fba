import { createSecretKey } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { open, seal } from './aead';
import { kindOf } from './key-type';

const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');

// Appendix A.3.1 of draft-irtf-cfrg-xchacha-03.
const key = createSecretKey(hex('808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f'));
const nonce = hex('404142434445464748494a4b4c4d4e4f5051525354555657');
const associated = hex('50515253c0c1c2c3c4c5c6c7');
const plaintext = Buffer.from(
  "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.",
);
const sealed = hex(`
  bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb
  731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452
  2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9
  21f9664c97637da9768812f615c68b13b52e
  c0875924c1c7987947deafd8780acf49`);

it('the cipher encrypts and decrypts the test vector of XChaCha20-Poly1305', () => {
  const kind = kindOf('xchacha20-poly1305') as Parameters<typeof seal>[0];
  expect(seal(kind, key, nonce, plaintext, associated)).toEqual(Buffer.concat([nonce, sealed]));
  expect(open(kind, key, Buffer.concat([nonce, sealed]), associated)).toEqual(plaintext);
});
