/** Thrown when none of the seal keys opens a keyring. */
export class WrongSealKey extends Error {
  override readonly name = 'WrongSealKey';
}

/** Thrown when a value was changed, was sealed for another cell, or is not a sealed value. */
export class NotAuthentic extends Error {
  override readonly name = 'NotAuthentic';
}

/**
 * Thrown when a value was sealed under a key version that this keyring does not have, for example because another node
 * has rotated the keys.
 */
export class UnknownKeyVersion extends Error {
  override readonly name = 'UnknownKeyVersion';
  constructor(readonly version: number) {
    super(`no key of version ${version}`);
  }
}
