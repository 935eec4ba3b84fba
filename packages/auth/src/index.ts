export { readBasic, readBearer } from './bearer';
export { checkTimes, type Leeways, usualLeeways } from './claim-times';
export { claimAt, isScalar, textsOf } from './claim-values';
export { equalSecrets } from './compare';
export { type IdTokenCheck, verifyIdToken, withUserInfo } from './id-token';
export { audiencesOf, type JwtCheck, verifyJwt } from './jwt';
export { makeCurveKey, makeRsaKey } from './key-pair';
export { firstKeys, isRotationDue, type RotatingKeys, type RotationRule, rotateKeys, shownKeys } from './key-rotation';
export { discoveryOf, type FetchJson, foreignIssuer, importPublicKey, KeySets, type KeySource } from './key-sets';
export { mintToken, randomBase62, randomId } from './mint';
export { networkOf } from './network';
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
export { barcodeOf, otpauthUrl } from './one-time-image';
export { type OpenidClient, OpenidProvider, ProviderRefusal, type ProviderTokens } from './openid-provider';
export { isAllowedRedirect, isPlainAddress } from './redirect';
export {
  digestOf,
  newSigningKey,
  publicJwk,
  type SigningAlgorithm,
  type SigningKey,
  signingAlgorithms,
  signJwt,
} from './sign';
export {
  type Claims,
  isSigned,
  type JwtAlgorithm,
  jwtAlgorithms,
  keyFits,
  type SignatureCheck,
  type SignatureHeader,
  verifySignature,
} from './signature';
export { startThread } from './start-thread';
export { WorkTurns } from './work-turns';
