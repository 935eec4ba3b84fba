import { createHmac, randomUUID } from 'node:crypto';
import { combineShares, sameSecret, shareBounds, splitKey } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';

/** How a key is cut into shares. */
export interface ShareCount {
  readonly shares: number;
  readonly threshold: number;
}

const MIN_BYTES = 16;
const MAX_BYTES = 33;

/** Refuses share counts that cannot be; `prefix` begins the message: `invalid recovery configuration`. */
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

/** Cuts a key into shares, in the form given to people. */
export const cut = (key: Buffer, { shares, threshold }: ShareCount): Promise<Buffer[]> =>
  splitKey(key, shares, threshold);

/** Reads a share as people type it: hexadecimal or base64. Throws `invalid` with the texts clients know. */
export function parseShare(text: string): Buffer {
  const share = parseBytes(text);
  if (!share) throw new Refusal('invalid', "'key' must be a valid hex or base64 string");
  return share;
}

/** Refuses shares of a length no key of ours has. */
export function checkShareLength(share: Buffer): void {
  if (share.length < MIN_BYTES) throw new Refusal('invalid', `key is shorter than minimum ${MIN_BYTES} bytes`);
  if (share.length > MAX_BYTES) throw new Refusal('invalid', `key is longer than maximum ${MAX_BYTES} bytes`);
}

function parseBytes(text: string): Buffer | undefined {
  if (text.length > 0 && text.length % 2 === 0 && /^[0-9a-fA-F]+$/.test(text)) return Buffer.from(text, 'hex');
  if (/^[A-Za-z0-9+/]+={0,2}$/.test(text) && text.length % 4 === 0) return Buffer.from(text, 'base64');
  return undefined;
}

/** The key that shares make together, or undefined when they cannot belong to one key. */
export async function joined(shares: readonly Buffer[]): Promise<Buffer | undefined> {
  try {
    return await combineShares(shares);
  } catch {
    return undefined;
  }
}

/** What is kept of a recovery key: enough to recognise it, and no use for making it. */
export const verifierOf = (key: Uint8Array): Buffer =>
  createHmac('sha256', key).update('keystead recovery key verifier').digest();

/** Whether a key is the one a verifier was made of. */
export const verifies = (key: Uint8Array, verifier: Uint8Array): boolean => sameSecret(verifierOf(key), verifier);

/** Whether a share is among those given already; takes the same time for each. */
export function alreadyGiven(shares: readonly Buffer[], share: Buffer): boolean {
  let found = false;
  for (const other of shares) if (sameSecret(other, share)) found = true;
  return found;
}

/** Shares given to one process, kept in memory only. */
export class ShareProgress {
  private given: Buffer[] = [];
  private attempt = '';

  get count(): number {
    return this.given.length;
  }

  /** Names the attempt; empty while no share has been given. */
  get nonce(): string {
    return this.attempt;
  }

  /** Adds a share; giving one twice changes nothing. Returns all shares once there are `threshold`, and forgets them. */
  add(share: Buffer, threshold: number): Buffer[] | undefined {
    if (alreadyGiven(this.given, share)) return undefined;
    if (this.given.length === 0) this.attempt = randomUUID();
    this.given.push(share);
    if (this.given.length < threshold) return undefined;
    const all = this.given;
    this.given = [];
    this.attempt = '';
    return all;
  }

  reset(): void {
    for (const share of this.given) share.fill(0);
    this.given = [];
    this.attempt = '';
  }
}
