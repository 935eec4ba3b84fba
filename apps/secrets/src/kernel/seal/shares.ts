import { createHmac, randomUUID } from 'node:crypto';
import { combineShares, sameSecret, shareBounds, splitKey } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';

/** How a key is split into shares. */
export interface ShareCount {
  readonly shares: number;
  readonly threshold: number;
}

const MIN_BYTES = 16;
const MAX_BYTES = 33;

/** Refuses impossible share counts; the message begins with `prefix`, for example `invalid recovery configuration`. */
export function checkShareCount({ shares, threshold }: ShareCount, prefix: string): void {
  const refuse = (what: string): never => {
    throw new Refusal('invalid', `${prefix}: ${what}`);
  };
  if (!(shares >= shareBounds.minimum)) refuse('shares must be at least one');
  if (!(threshold >= shareBounds.minimum)) refuse('threshold must be at least one');
  if (shares > shareBounds.maximum) refuse(`shares must be less than ${shareBounds.maximum + 1}`);
  if (threshold > shares) refuse('threshold cannot be larger than shares');
  if (shares > 1 && threshold === 1) refuse('threshold must be greater than one for multiple shares');
}

/** Splits a key into shares, in the form that people get. */
export const splitIntoShares = (key: Buffer, { shares, threshold }: ShareCount): Promise<Buffer[]> =>
  splitKey(key, shares, threshold);

/**
 * Parses a share that a person typed: hexadecimal or base64. Throws `invalid` with the messages that clients expect.
 */
export function parseShare(text: string): Buffer {
  const share = parseBytes(text);
  if (!share) throw new Refusal('invalid', "'key' must be a valid hex or base64 string");
  return share;
}

/** Refuses shares whose length fits none of our keys. */
export function checkShareLength(share: Buffer): void {
  if (share.length < MIN_BYTES) throw new Refusal('invalid', `key is shorter than minimum ${MIN_BYTES} bytes`);
  if (share.length > MAX_BYTES) throw new Refusal('invalid', `key is longer than maximum ${MAX_BYTES} bytes`);
}

function parseBytes(text: string): Buffer | undefined {
  if (text.length > 0 && text.length % 2 === 0 && /^[0-9a-fA-F]+$/.test(text)) return Buffer.from(text, 'hex');
  if (/^[A-Za-z0-9+/]+={0,2}$/.test(text) && text.length % 4 === 0) return Buffer.from(text, 'base64');
  return undefined;
}

/** Combines shares into the key; undefined if they cannot belong to the same key. */
export async function joined(shares: readonly Buffer[]): Promise<Buffer | undefined> {
  try {
    return await combineShares(shares);
  } catch {
    return undefined;
  }
}

/** The verifier of a recovery key: enough to recognise the key, not to restore it. */
export const verifierOf = (key: Uint8Array): Buffer =>
  createHmac('sha256', key).update('keystead recovery key verifier').digest();

/** Whether a key matches a verifier. */
export const verifies = (key: Uint8Array, verifier: Uint8Array): boolean => sameSecret(verifierOf(key), verifier);

/** Whether a share was already entered. The comparison takes constant time. */
export function alreadyGiven(shares: readonly Buffer[], share: Buffer): boolean {
  let found = false;
  for (const other of shares) if (sameSecret(other, share)) found = true;
  return found;
}

/** Shares given to one process, in memory only. */
export class ShareProgress {
  private collected: Buffer[] = [];
  private attempt = '';

  get count(): number {
    return this.collected.length;
  }

  /** Identifies the attempt; empty until a share is entered. */
  get nonce(): string {
    return this.attempt;
  }

  /**
   * Adds a share. Adding the same share again changes nothing. When there are `threshold` shares, returns all and drops
   * them.
   */
  add(share: Buffer, threshold: number): Buffer[] | undefined {
    if (alreadyGiven(this.collected, share)) return undefined;
    if (this.collected.length === 0) this.attempt = randomUUID();
    this.collected.push(share);
    if (this.collected.length < threshold) return undefined;
    const all = this.collected;
    this.collected = [];
    this.attempt = '';
    return all;
  }

  reset(): void {
    for (const share of this.collected) share.fill(0);
    this.collected = [];
    this.attempt = '';
  }
}
