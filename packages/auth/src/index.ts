export { readBearer } from './bearer';
export { equalSecrets } from './compare';
export { audiencesOf, type JwtCheck, verifyJwt } from './jwt';
export { firstKeys, isRotationDue, type RotatingKeys, type RotationRule, rotateKeys, shownKeys } from './key-rotation';
export { type FetchJson, importPublicKey, KeySets, type KeySource } from './key-sets';
export { mintToken, randomBase62, randomId } from './mint';
export {
  type Algorithm,
  algorithms,
  base32,
  type CodeScheme,
  codeFor,
  counterAt,
  fromBase32,
  isCode,
  matchCounter,
} from './one-time-code';
export { newSigningKey, publicJwk, type SigningKey, signJwt } from './sign';
export { type Claims, type JwtAlgorithm, jwtAlgorithms, type SignatureHeader, verifySignature } from './signature';
