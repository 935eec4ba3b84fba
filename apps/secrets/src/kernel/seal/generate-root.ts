import { randomUUID } from 'node:crypto';
import { randomBase62 } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import type { StorageKernel } from '../storage/storage';
import type { WriteSet } from '../storage/types';
import { newWriteSet } from '../storage/write-set';
import { Allowance } from './allowance';
import { Ceremony } from './ceremony';
import type { Seal } from './seal';
import { encryptText, readShareKeys } from './share-encryption';
import { olderShares, ShareMarks } from './share-marks';
import { alreadyGiven, checkShareLength, joined, parseShare } from './shares';

/** The progress of generating a root token. */
export interface RootAttempt {
  readonly nonce: string;
  readonly started: boolean;
  readonly progress: number;
  readonly required: number;
  readonly complete: boolean;
  /** Only in the last answer: the token, encoded with the one-time password or encrypted. */
  readonly encodedToken: string;
  readonly pgpFingerprint: string;
  /** Only in the first answer. */
  readonly otp: string;
  readonly otpLength: number;
}

interface GenerateRootState {
  readonly nonce: string;
  readonly otp?: string;
  readonly pgpKey?: string;
  readonly pgpFingerprint: string;
  readonly shares: readonly string[];
  /** A valid share was entered, so strangers can no longer cancel the attempt. */
  readonly proven?: boolean;
}

/** The length of a root token: a prefix of two characters, and 24 characters. */
const OTP_LENGTH = 26;
const LIFETIME_MS = 3600_000;

/**
 * Generates a root token for people who hold enough shares of the recovery key (or of the unseal key). The token leaves
 * the service only in encoded form, so the person who enters the last share cannot read it unless they also have the
 * password or the OpenPGP key. Callers need no token, so anyone can start an attempt. A share that is not current is
 * refused without effect. A holder of a share can replace an attempt that strangers have started. Only a holder can
 * cancel an attempt that has a valid share.
 */
export class RootGeneration {
  private readonly ceremony: Ceremony<GenerateRootState>;
  private readonly allowance = new Allowance();
  private readonly marks: ShareMarks;

  constructor(
    storage: StorageKernel,
    private readonly seal: Seal,
    /** Adds a root token to a write set and returns its text. */
    private readonly mintRoot: (set: WriteSet) => string,
  ) {
    this.storage = storage;
    this.ceremony = new Ceremony(storage, 'root', LIFETIME_MS);
    this.marks = new ShareMarks(storage);
  }

  private readonly storage: StorageKernel;

  async status(): Promise<RootAttempt> {
    return this.attemptOf(await this.ceremony.find());
  }

  /**
   * Starts an attempt. Without a one-time password or an OpenPGP key, a password is generated and shown once. With a
   * current share, the attempt replaces one in progress; the share must still be entered. Throws `invalid`.
   */
  async start({ otp, pgpKey, key: share }: { otp?: string; pgpKey?: string; key?: string }): Promise<RootAttempt> {
    if (otp && pgpKey) throw new Refusal('invalid', 'only one of otp and pgp_key may be given');
    if (otp && otp.length !== OTP_LENGTH) throw new Refusal('invalid', 'OTP string has incorrect length');
    const [key] = pgpKey ? await readShareKeys([pgpKey], 'invalid PGP key') : [];
    const password = pgpKey ? undefined : (otp ?? randomBase62(OTP_LENGTH));
    const state: GenerateRootState = {
      nonce: randomUUID(),
      otp: password,
      pgpKey,
      pgpFingerprint: key?.fingerprint ?? '',
      shares: [],
      proven: share !== undefined,
    };
    if (share !== undefined) {
      await this.prove(share);
      await this.ceremony.restart(state);
    } else if (!(await this.ceremony.begin(state))) throw new Refusal('invalid', 'root generation already in progress');
    return { ...(await this.attemptOf(state)), otp: password ?? '' };
  }

  /** Cancels an attempt without a valid share. Throws `invalid` for an attempt with a valid share. */
  cancel(): Promise<void> {
    return this.ceremony.step(async (state) => {
      if (!state?.proven) return { state: undefined, result: undefined };
      throw new Refusal(
        'invalid',
        'a share has already been entered for this root generation: to replace it, start another one with a share',
      );
    });
  }

  /** Enters one share. The last one returns the token. Throws `invalid`, and `limited` for too many calls. */
  async update(keyText: string, nonce: string): Promise<RootAttempt> {
    const share = parseShare(keyText);
    checkShareLength(share);
    const isCurrent = await this.marks.knows(share);
    // Holders of shares are never blocked by others.
    if (isCurrent !== true) this.allowance.take();
    const { threshold } = await this.seal.requireRecord();
    const set = newWriteSet();
    const outcome = await this.ceremony.step<GenerateRootState | { state: GenerateRootState; key: Buffer }>(
      async (state) => {
        if (!state) throw new Refusal('invalid', 'no root generation in progress');
        if (nonce !== state.nonce) {
          throw new Refusal(
            'invalid',
            `incorrect nonce supplied; nonce for this root generation operation is "${state.nonce}"`,
          );
        }
        if (isCurrent === false) throw unknownShare();
        const shares = state.shares.map((text) => Buffer.from(text, 'base64'));
        if (alreadyGiven(shares, share)) {
          throw new Refusal('invalid', 'given key has already been provided during this generation operation');
        }
        const next: GenerateRootState = {
          ...state,
          proven: state.proven || isCurrent,
          shares: [...state.shares, share.toString('base64')],
        };
        if (next.shares.length < threshold) return { state: next, result: next };
        const key = await joined([...shares, share]);
        if (!key || !(await this.seal.recognises(key))) {
          throw this.ceremony.refusalWithState(
            { ...state, shares: [] },
            new Refusal('invalid', 'root generation aborted: unseal key verification failed'),
          );
        }
        return { state: undefined, result: { state: next, key } };
      },
    );
    if (!('key' in outcome)) return this.attemptOf(outcome);
    outcome.key.fill(0);
    const token = this.mintRoot(set);
    await this.storage.committer.commit(set);
    return {
      ...(await this.attemptOf(outcome.state)),
      progress: outcome.state.shares.length,
      complete: true,
      encodedToken: await encode(token, outcome.state),
    };
  }

  private async prove(keyText: string): Promise<void> {
    const share = parseShare(keyText);
    checkShareLength(share);
    const isCurrent = await this.marks.knows(share);
    if (isCurrent) return;
    this.allowance.take();
    throw isCurrent === undefined ? olderShares() : unknownShare();
  }

  private async attemptOf(state: GenerateRootState | undefined): Promise<RootAttempt> {
    const { threshold } = await this.seal.requireRecord();
    return {
      nonce: state?.nonce ?? '',
      started: state !== undefined,
      progress: state?.shares.length ?? 0,
      required: threshold,
      complete: false,
      encodedToken: '',
      pgpFingerprint: state?.pgpFingerprint ?? '',
      otp: '',
      otpLength: OTP_LENGTH,
    };
  }
}

const unknownShare = (): Refusal =>
  new Refusal('invalid', 'unseal key verification failed: the share is not one of the current shares');

async function encode(token: string, { otp, pgpKey }: GenerateRootState): Promise<string> {
  if (pgpKey) {
    const [key] = await readShareKeys([pgpKey], 'invalid PGP key');
    return (await encryptText(token, key!)).toString('base64');
  }
  const bytes = Buffer.from(token);
  const pad = Buffer.from(otp!);
  for (let at = 0; at < bytes.length; at++) bytes[at]! ^= pad[at]!;
  return bytes.toString('base64').replace(/(?<!=)=+$/, '');
}
