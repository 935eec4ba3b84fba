/** Thrown when no seal key that was given opens a keyring. */
export class WrongSealKey extends Error {
  override readonly name = 'WrongSealKey';
}

/** Thrown when a sealed value was changed, belongs to another cell, or is not a sealed value at all. */
export class NotAuthentic extends Error {
  override readonly name = 'NotAuthentic';
}

/** Thrown when a value was sealed under a key version this keyring does not hold, as after a rotation elsewhere. */
export class UnknownKeyVersion extends Error {
  override readonly name = 'UnknownKeyVersion';
  constructor(readonly version: number) {
    super(`no key of version ${version}`);
  }
}
