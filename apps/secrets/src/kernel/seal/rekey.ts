import { randomBytes, randomUUID } from 'node:crypto';
import { sameSecret } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import { deleteSetting, readSealedSetting, storeSealedSetting } from '../storage/settings';
import type { StorageKernel } from '../storage/storage';
import type { Tx } from '../storage/types';
import { Ceremony } from './ceremony';
import type { Seal } from './seal';
import { encryptAll } from './seal';
import { replaceRecovery, replaceShares, type SealRecord } from './seal-row';
import { readShareKeys } from './share-encryption';
import { markOf, ShareMarks } from './share-marks';
import {
  alreadyGiven,
  checkShareCount,
  checkShareLength,
  joined,
  parseShare,
  splitIntoShares,
  verifierOf,
} from './shares';

/** Which shares are replaced: those of the recovery key (auto seal) or those that unseal (Shamir). */
export type RekeyKind = 'recovery' | 'barrier';

/** The input of a rekey; keys are base64 of binary OpenPGP keys. */
export interface RekeyRequest {
  readonly shares: number;
  readonly threshold: number;
  readonly pgpKeys: readonly string[];
  readonly backup: boolean;
  readonly requireVerification: boolean;
}

/** The progress of a rekey. Spec: Rekey status. */
export interface RekeyStatus {
  readonly nonce: string;
  readonly started: boolean;
  readonly threshold: number;
  readonly shares: number;
  readonly progress: number;
  readonly required: number;
  readonly pgpFingerprints: readonly string[] | null;
  readonly backup: boolean;
  readonly verificationRequired: boolean;
  /** Present once verification is pending. */
  readonly verificationNonce?: string;
}

/** The new shares. Spec: Rekey completion result. */
export interface RekeyResult {
  readonly nonce: string;
  readonly keys: readonly Buffer[];
  readonly pgpFingerprints: readonly string[] | null;
  readonly backup: boolean;
  readonly verificationRequired: boolean;
  readonly verificationNonce?: string;
}

/** The progress of verifying new shares. Spec: Rekey verification status. */
export interface VerifyStatus {
  readonly nonce: string;
  readonly started: boolean;
  readonly threshold: number;
  readonly shares: number;
  readonly progress: number;
}

/** The stored encrypted shares, by fingerprint. Spec: Rekey backup. */
export interface RekeyBackup {
  readonly nonce: string;
  readonly keys: ReadonlyMap<string, readonly Buffer[]>;
}

interface RekeyState {
  readonly nonce: string;
  readonly shares: number;
  readonly threshold: number;
  readonly pgpKeys: readonly string[];
  readonly fingerprints: readonly string[] | null;
  readonly backup: boolean;
  readonly verify: boolean;
  readonly given: readonly string[];
  /** While verification is pending: the new key, which is not active yet, and the new shares entered so far. */
  readonly pending?: {
    readonly nonce: string;
    readonly key: string;
    readonly marks?: readonly string[];
    readonly given: readonly string[];
  };
}

/** Whether a share is a current one, and how many there are. */
export interface ShareCheck {
  readonly valid: boolean;
  readonly threshold: number;
  readonly shares: number;
}

interface Backup {
  readonly nonce: string;
  readonly keys: readonly (readonly [fingerprint: string, message: string])[];
}

const words = {
  recovery: {
    config: 'invalid recovery configuration',
    idle: 'no recovery rekey in progress',
    wrong: 'recovery key verification failed: recovery key does not match submitted values',
    unsupported: 'recovery rekeying not supported',
  },
  barrier: {
    config: 'invalid rekey seal configuration',
    idle: 'no barrier rekey in progress',
    wrong: 'unseal key verification failed: unseal key does not match submitted values',
    unsupported: 'barrier rekeying not supported',
  },
} as const;

/**
 * Replaces the shares of a key. Holders enter their old shares, and new shares are issued. If verification was
 * requested, the new shares become active only when enough of them have been entered. Spec: States and transitions.
 */
export class Rekey {
  private readonly ceremony: Ceremony<RekeyState>;
  private readonly words: (typeof words)[RekeyKind];
  private readonly marks: ShareMarks;
  private forced: Buffer | undefined;

  constructor(
    private readonly storage: StorageKernel,
    private readonly seal: Seal,
    private readonly kind: RekeyKind,
    lifetimeMs = 3600_000,
  ) {
    this.ceremony = new Ceremony(storage, kind, lifetimeMs);
    this.words = words[kind];
    this.marks = new ShareMarks(storage);
  }

  async status(): Promise<RekeyStatus> {
    const required = await this.required();
    return statusOf(await this.ceremony.find(), required);
  }

  /** The status, also for a seal without this kind of key: no rekey is running, and no share is needed. */
  async progress(): Promise<RekeyStatus> {
    return (await this.applies()) ? this.status() : statusOf(undefined, 0);
  }

  /** Throws `invalid` for an impossible request, and while a rekey is in progress. */
  async start(request: RekeyRequest): Promise<RekeyStatus> {
    const { pgpKeys, shares, threshold, backup } = request;
    if (backup && pgpKeys.length === 0) {
      throw invalid('cannot request a backup of the new keys without providing PGP keys for encryption');
    }
    if (pgpKeys.length > 0 && pgpKeys.length !== shares) throw invalid('incorrect number of PGP keys for rekey');
    checkShareCount(request, this.words.config);
    const keys = await readShareKeys(pgpKeys, this.words.config);
    const required = await this.required();
    const state: RekeyState = {
      nonce: randomUUID(),
      shares,
      threshold,
      pgpKeys,
      fingerprints: keys.length > 0 ? keys.map((key) => key.fingerprint) : null,
      backup,
      verify: request.requireVerification,
      given: [],
    };
    if (!(await this.ceremony.begin(state))) throw invalid('rekey already in progress');
    return statusOf(state, required);
  }

  /** Cancels the rekey; the current shares stay valid. */
  cancel(): Promise<void> {
    return this.ceremony.cancel();
  }

  /** Enters one share of the current key. The last one returns the new shares. Throws `invalid`. */
  async update(keyText: string, nonce: string): Promise<RekeyStatus | RekeyResult> {
    const share = parseShare(keyText);
    checkShareLength(share);
    const required = await this.required();
    return this.stepping<RekeyStatus | RekeyResult>(async (state, tx) => {
      if (!state) throw invalid(this.words.idle);
      if (state.pending) {
        throw invalid(
          `rekey operation already finished; verification must be performed; nonce for the verification operation is "${state.pending.nonce}"`,
        );
      }
      if (nonce !== state.nonce) {
        throw invalid(`incorrect nonce supplied; nonce for this rekey operation is "${state.nonce}"`);
      }
      const shares = state.given.map(bytes);
      if (alreadyGiven(shares, share)) throw invalid('given key has already been provided during this rekey operation');
      const next: RekeyState = { ...state, given: [...state.given, share.toString('base64')] };
      if (next.given.length < required) return { state: next, result: statusOf(next, required) };
      const key = await joined([...shares, share]);
      if (!key || !(await this.seal.recognises(key))) {
        throw this.ceremony.refusalWithState({ ...state, given: [] }, invalid(this.words.wrong));
      }
      key.fill(0);
      return this.complete(tx, state);
    });
  }

  async verifyStatus(): Promise<VerifyStatus> {
    await this.required();
    const state = await this.ceremony.find();
    if (!state) throw invalid('no rekey configuration found');
    return verification(state);
  }

  /** Enters one of the new shares. The last one activates them. Throws `invalid`. */
  async verify(keyText: string, nonce: string): Promise<VerifyStatus | { nonce: string; complete: true }> {
    const share = parseShare(keyText);
    checkShareLength(share);
    await this.required();
    return this.stepping<VerifyStatus | { nonce: string; complete: true }>(async (state, tx) => {
      if (!state) throw invalid('no rekey in progress');
      const { pending } = state;
      if (!pending) throw invalid('no rekey verification in progress');
      if (nonce !== pending.nonce) {
        throw invalid(`incorrect nonce supplied; nonce for this verify operation is "${pending.nonce}"`);
      }
      const shares = pending.given.map(bytes);
      if (alreadyGiven(shares, share))
        throw invalid('given key has already been provided during this verify operation');
      const next: RekeyState = {
        ...state,
        pending: { ...pending, given: [...pending.given, share.toString('base64')] },
      };
      if (next.pending!.given.length < state.threshold) return { state: next, result: verification(next) };
      const key = await joined([...shares, share]);
      if (!key || !sameSecret(key, bytes(pending.key))) {
        const again = { ...state, pending: { ...pending, nonce: randomUUID(), given: [] } };
        throw this.ceremony.refusalWithState(
          again,
          invalid('rekey verification failed; incorrect key shares supplied'),
        );
      }
      await this.takeIntoForce(tx, key, state, pending.marks);
      return { state: undefined, result: { nonce: pending.nonce, complete: true } };
    });
  }

  /** Discards the new shares entered so far. The rekey continues. Throws `invalid` if there is no rekey. */
  async restartVerify(): Promise<VerifyStatus> {
    await this.required();
    return this.ceremony.step(async (state) => {
      if (!state) throw invalid('no rekey configuration found');
      const next = state.pending ? { ...state, pending: { ...state.pending, nonce: randomUUID(), given: [] } } : state;
      return { state: next, result: verification(next) };
    });
  }

  /** Whether a share is still valid. Does not advance a rekey. Throws `invalid` and `limited`. */
  async check(keyText: string): Promise<ShareCheck> {
    const { shares, threshold } = await this.record();
    return { valid: await this.marks.recognises(keyText), threshold, shares };
  }

  /** The backup of shares from the last rekey that requested one. */
  async findBackup(): Promise<RekeyBackup | undefined> {
    const sealed = await readSealedSetting(this.storage.database.prisma, this.backupName);
    if (!sealed) return undefined;
    const { nonce, keys } = this.storage.barrier.openJson<Backup>(sealed, this.backupCell);
    const byFingerprint = new Map<string, Buffer[]>();
    for (const [fingerprint, message] of keys) {
      byFingerprint.set(fingerprint, [...(byFingerprint.get(fingerprint) ?? []), bytes(message)]);
    }
    return { nonce, keys: byFingerprint };
  }

  async deleteBackup(): Promise<void> {
    await deleteSetting(this.storage.database.prisma, this.backupName);
  }

  private async complete(tx: Tx, state: RekeyState): Promise<{ state: RekeyState | undefined; result: RekeyResult }> {
    const key = randomBytes(32);
    const plain = await splitIntoShares(key, state);
    const marks = plain.map(markOf);
    const encryptTo = await readShareKeys(state.pgpKeys, this.words.config);
    const keys = encryptTo.length > 0 ? await encryptAll(plain, encryptTo) : plain;
    if (state.backup) await this.storeBackup(tx, state, keys);
    const facts = {
      nonce: state.nonce,
      keys,
      pgpFingerprints: state.fingerprints,
      backup: state.backup,
      verificationRequired: state.verify,
    };
    if (!state.verify) {
      await this.takeIntoForce(tx, key, state, marks);
      return { state: undefined, result: facts };
    }
    const pending = { nonce: randomUUID(), key: key.toString('base64'), marks, given: [] };
    return { state: { ...state, given: [], pending }, result: { ...facts, verificationNonce: pending.nonce } };
  }

  private async takeIntoForce(
    tx: Tx,
    key: Buffer,
    { shares, threshold }: RekeyState,
    marks: readonly string[] | undefined,
  ): Promise<void> {
    await this.storage.fault('rekey:force');
    await this.marks.keep(tx, marks);
    if (this.kind === 'recovery') await replaceRecovery(tx, verifierOf(key), shares, threshold);
    else await replaceShares(tx, this.storage.barrier.keys.wrap(key), shares, threshold);
    this.forced = key;
  }

  /** Runs a step; this node only uses what was committed. */
  private async stepping<T>(step: Parameters<Ceremony<RekeyState>['step']>[0]): Promise<T> {
    this.forced = undefined;
    const result = await this.ceremony.step(step);
    if (this.forced && this.kind === 'barrier') this.seal.rewrapped(this.forced);
    return result as T;
  }

  private async storeBackup(tx: Tx, { nonce, fingerprints }: RekeyState, keys: readonly Buffer[]): Promise<void> {
    const backup: Backup = {
      nonce,
      keys: keys.map((key, at) => [fingerprints![at]!, key.toString('base64')] as const),
    };
    await storeSealedSetting(tx.prisma, this.backupName, this.storage.barrier.sealJson(backup, this.backupCell));
  }

  private get backupName(): string {
    return this.kind === 'recovery' ? 'core/recovery-keys-backup' : 'core/unseal-keys-backup';
  }

  private get backupCell() {
    return { table: 'setting', row: this.backupName, column: 'sealed' };
  }

  /** The threshold of the current key. Throws `invalid` if this seal has no key of this kind. */
  private async required(): Promise<number> {
    return (await this.record()).threshold;
  }

  private async record(): Promise<SealRecord> {
    const record = await this.seal.requireRecord();
    if (!isOf(record, this.kind)) throw invalid(this.words.unsupported);
    return record;
  }

  private async applies(): Promise<boolean> {
    return isOf(await this.seal.requireRecord(), this.kind);
  }
}

const isOf = ({ type }: SealRecord, kind: RekeyKind): boolean => (type === 'auto') === (kind === 'recovery');
const invalid = (message: string): Refusal => new Refusal('invalid', message);
const bytes = (base64: string): Buffer => Buffer.from(base64, 'base64');

function statusOf(state: RekeyState | undefined, required: number): RekeyStatus {
  return {
    nonce: state?.nonce ?? '',
    started: state !== undefined,
    threshold: state?.threshold ?? 0,
    shares: state?.shares ?? 0,
    progress: state?.given.length ?? 0,
    required,
    pgpFingerprints: state?.fingerprints ?? null,
    backup: state?.backup ?? false,
    verificationRequired: state?.verify ?? false,
    verificationNonce: state?.pending?.nonce,
  };
}

function verification({ threshold, shares, pending }: RekeyState): VerifyStatus {
  return {
    nonce: pending?.nonce ?? '',
    started: pending !== undefined,
    threshold,
    shares,
    progress: pending?.given.length ?? 0,
  };
}
