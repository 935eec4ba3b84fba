export { NotAuthentic, UnknownKeyVersion, WrongSealKey } from './errors';
export { type Cell, Keyring } from './keyring';
export {
  createSealKeyFile,
  openWithSealKey,
  parseKey,
  readSealKeys,
  type SealKeySource,
  type SealKeys,
  sealWithSealKey,
} from './seal-key';
export { combineShares, sameSecret, shareBounds, splitKey } from './shares';
