import { randomBytes } from 'node:crypto';
import { Keyring, openWithSealKey, type SealKeys, WrongSealKey } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import type { SealBeat } from '../storage/listeners';
import type { StorageKernel } from '../storage/storage';
import type { WriteSet } from '../storage/types';
import { add, newWriteSet } from '../storage/write-set';
import { findSeal, flagSeal, insertSeal, rewrapSeal, type SealRecord, type SealType } from './seal-row';
import { encryptShare, readShareKeys, type ShareKey } from './share-encryption';
import { markOf, ShareMarks } from './share-marks';
import {
  checkShareCount,
  checkShareLength,
  joined,
  parseShare,
  ShareProgress,
  splitIntoShares,
  verifierOf,
  verifies,
} from './shares';

export interface SealOptions {
  readonly type: SealType;
  /** Reads the seal keys from file or environment, each time they are needed; auto seals only. */
  readonly sealKeys?: () => SealKeys;
  readonly log?: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

/** The content of seal-status. */
export interface SealStatus {
  readonly type: SealType;
  readonly initialised: boolean;
  readonly sealed: boolean;
  readonly threshold: number;
  readonly shares: number;
  readonly progress: number;
  readonly nonce: string;
  readonly recoverySeal: boolean;
}

/** The input of an initialisation; keys are base64 of binary OpenPGP keys. */
export interface InitRequest {
  readonly shares: number;
  readonly threshold: number;
  readonly pgpKeys?: readonly string[];
}

/** The result of an initialisation: the only time that the shares exist. */
export interface InitResult<T> {
  /**
   * Recovery shares of an auto seal, or unseal shares of a Shamir seal. Encrypted if the request contained OpenPGP
   * keys.
   */
  readonly shares: readonly Buffer[];
  readonly recovery: boolean;
  readonly populated: T;
}

/** The notice that the service was sealed. */
const SEALED = 'sealed';
/** How often a node without heartbeats asks whether it is sealed. */
const ASK_MS = 300;

const WRONG_SHARES =
  'unable to retrieve stored keys: invalid key: failed to decrypt keys from storage: cipher: message authentication failed';

/**
 * Whether this node has the keys, and how it gets them. A flag in the database seals all nodes within a second; with an
 * auto seal, a node unseals itself when the flag is cleared.
 */
export class Seal {
  /** The last state in the database, whether or not this node has followed it yet. */
  private record: SealRecord | undefined;
  /** The generation of the keys in use; 0 while there are none. */
  private inUse = 0;
  private readonly progress = new ShareProgress();
  /**
   * The key that wraps the keyring under a Shamir seal; kept while unsealed, so that rotation can rewrap the keyring.
   */
  private unsealKey: Buffer | undefined;
  /** Heartbeats from before this time show an old state, because this node changed the state at this time. */
  private changedMs = 0;
  private busy: Promise<unknown> = Promise.resolve();
  private readonly openings = new Set<() => void | Promise<void>>();
  private readonly closings = new Set<() => void>();

  constructor(
    private readonly storage: StorageKernel,
    private readonly options: SealOptions,
  ) {
    storage.reloadKeys = () => this.reload();
    storage.changes.onBeat((beat) => this.onBeat(beat));
    storage.changes.listen('seal', (key) => {
      if (key === SEALED && !this.sealed) this.drop();
      void this.exclusive(() => this.follow()).catch(() => {});
    });
    // Without heartbeats this node would not learn that it is sealed, so it asks.
    storage.background.every('seal', ASK_MS, async () => {
      if (!storage.changes.fresh) await this.exclusive(() => this.follow());
      return undefined;
    });
  }

  get sealed(): boolean {
    return this.storage.barrier.sealed;
  }

  get initialised(): boolean {
    return this.record !== undefined;
  }

  /** Called each time this node gets its keys. The node is unsealed when the promise resolves. */
  onOpen(opened: () => void | Promise<void>): void {
    this.openings.add(opened);
  }

  /** Called each time this node drops its keys. */
  onClose(closed: () => void): void {
    this.closings.add(closed);
  }

  /** Reads how the installation is sealed and unseals it if no share is needed. */
  start(): Promise<void> {
    return this.exclusive(() => this.follow());
  }

  async status(): Promise<SealStatus> {
    const record = this.record ?? (await this.load());
    return {
      type: record?.type ?? this.options.type,
      initialised: record !== undefined,
      sealed: this.sealed,
      threshold: record?.threshold ?? 0,
      shares: record?.shares ?? 0,
      progress: this.progress.count,
      nonce: this.progress.nonce,
      recoverySeal: (record?.type ?? this.options.type) === 'auto',
    };
  }

  /**
   * Creates the keys of a new installation. `populate` adds the initial content (root token, mounts) to the write set,
   * so that everything is created or nothing. Throws `invalid`.
   */
  init<T>(request: InitRequest, populate: (set: WriteSet) => Promise<T> | T): Promise<InitResult<T>> {
    return this.exclusive(() => this.initialise(request, populate));
  }

  /** Seals every node: this one immediately, the others within a second. */
  seal(): Promise<void> {
    return this.exclusive(async () => {
      await this.storage.committer.transaction((tx) => flagSeal(tx, true), [{ topic: 'seal', key: SEALED }]);
      await this.load();
      this.changedMs = performance.now();
      this.drop();
    });
  }

  /** Takes one share. At the threshold it unseals the service, or throws `invalid` if the shares were wrong. */
  async unseal(text: string): Promise<SealStatus> {
    await this.exclusive(() => this.take(text));
    return this.status();
  }

  /** Forgets the shares given so far. */
  async resetUnseal(): Promise<SealStatus> {
    this.progress.reset();
    return this.status();
  }

  /** Whether a combined key is the current one: the recovery key, or the unseal key of a Shamir seal. */
  async recognises(key: Buffer): Promise<boolean> {
    const record = await this.requireRecord();
    if (record.type === 'auto') return record.verifier !== undefined && verifies(key, record.verifier);
    try {
      openWithSealKey(record.keyring, [key]).fill(0);
      return true;
    } catch {
      return false;
    }
  }

  /** The current record, read again. Throws `not-initialised`. */
  async requireRecord(): Promise<SealRecord> {
    const record = await this.load();
    if (!record) throw new Refusal('not-initialised', 'Service is not initialized');
    return record;
  }

  /** Wraps keys for this installation's seal. */
  wrap(keyring: Keyring): Buffer {
    return keyring.wrap(this.unsealKey ?? this.sealKeys().current);
  }

  /** Opens a wrapped keyring with this node's key. */
  unwrap(wrapped: Buffer): Keyring {
    if (this.unsealKey) return Keyring.unwrap(wrapped, [this.unsealKey]);
    const { current, previous } = this.sealKeys();
    return Keyring.unwrap(wrapped, previous ? [current, previous] : [current]);
  }

  /** Sets the key that wraps the keyring from now on, after a Shamir seal got new shares. */
  rewrapped(unsealKey: Buffer): void {
    this.unsealKey = unsealKey;
  }

  /** Reads the keyring again if it has changed; true if it had. */
  async reload(): Promise<boolean> {
    const before = this.inUse;
    const record = await this.load();
    if (!record || this.sealed) return false;
    if (record.generation > this.inUse) this.use(this.unwrap(record.keyring), record);
    // Another call may already have read it.
    return this.inUse !== before;
  }

  private async initialise<T>(
    request: InitRequest,
    populate: (set: WriteSet) => Promise<T> | T,
  ): Promise<InitResult<T>> {
    const { storage, options } = this;
    if (await this.load()) throw new Refusal('invalid', 'Service is already initialized');
    const recovery = options.type === 'auto';
    const keys = await this.checkInit(
      request,
      recovery ? 'invalid recovery configuration' : 'invalid seal configuration',
    );
    const key = randomBytes(32);
    const keyring = Keyring.create();
    const wrapped = keyring.wrap(recovery ? this.sealKeys().current : key);
    const shares = await splitIntoShares(key, request);
    const set = newWriteSet();
    add(set, 'notices', { topic: 'seal', key: 'initialised' });
    let first = false;
    add(set, 'run', async (tx) => {
      first = await insertSeal(tx, {
        type: options.type,
        keyring: wrapped,
        shares: request.shares,
        threshold: request.threshold,
        verifier: recovery ? verifierOf(key) : undefined,
        initialisedAtMs: storage.clock.now(),
      });
      if (!first) throw new Refusal('invalid', 'Service is already initialized');
      await new ShareMarks(storage).keep(tx, shares.map(markOf));
    });
    storage.barrier.unseal(keyring);
    let populated: T;
    try {
      populated = await populate(set);
      await storage.committer.commit(set);
    } catch (error) {
      storage.barrier.drop();
      throw error;
    }
    if (!recovery) this.unsealKey = key;
    else key.fill(0);
    const record = await this.load();
    this.changedMs = performance.now();
    await this.opened(record!);
    return { shares: keys ? await encryptAll(shares, keys) : shares, recovery, populated };
  }

  private async checkInit(request: InitRequest, prefix: string): Promise<ShareKey[] | undefined> {
    checkShareCount(request, prefix);
    const { pgpKeys } = request;
    if (!pgpKeys || pgpKeys.length === 0) return undefined;
    if (pgpKeys.length !== request.shares) throw new Refusal('invalid', 'incorrect number of PGP keys');
    return readShareKeys(pgpKeys, prefix);
  }

  private async take(text: string): Promise<void> {
    const share = parseShare(text);
    if (!this.sealed) return;
    const record = await this.requireRecord();
    checkShareLength(share);
    const all = this.progress.add(share, record.threshold);
    if (!all) return;
    const key = await joined(all);
    for (const one of all) one.fill(0);
    if (!key) throw new Refusal('invalid', WRONG_SHARES);
    const keyring = record.type === 'shamir' ? openedBy(record, key) : this.recovered(record, key);
    if (record.type === 'shamir') this.unsealKey = key;
    await this.storage.committer.transaction((tx) => flagSeal(tx, false), [{ topic: 'seal', key: 'unsealed' }]);
    this.changedMs = performance.now();
    await this.open(keyring, (await this.load()) ?? record);
  }

  private recovered(record: SealRecord, key: Buffer): Keyring {
    const right = record.verifier !== undefined && verifies(key, record.verifier);
    key.fill(0);
    if (!right) throw new Refusal('invalid', WRONG_SHARES);
    return this.unwrap(record.keyring);
  }

  private onBeat({ initialised, sealed, generation, askedMs }: SealBeat): void {
    if (askedMs < this.changedMs) return;
    if (sealed && !this.sealed) this.drop();
    const stale =
      initialised !== this.initialised ||
      (!sealed && this.sealed && initialised && this.opensItself) ||
      (!this.sealed && this.inUse !== generation);
    if (stale)
      void this.exclusive(() => this.follow()).catch((error) => this.options.log?.warn({ err: error }, 'seal'));
  }

  private get opensItself(): boolean {
    return (this.record?.type ?? this.options.type) === 'auto';
  }

  /** Follows the state in the database. */
  private async follow(): Promise<void> {
    const record = await this.load();
    if (!record) return;
    this.storage.changes.setGeneration(this.sealed ? 0 : this.inUse);
    if (record.sealed) {
      if (!this.sealed) this.drop();
      return;
    }
    if (this.sealed) {
      if (record.type !== 'auto') return;
      await this.open(this.unwrap(record.keyring), record);
      await this.wrapWithCurrent(record);
    } else if (record.generation > this.inUse) {
      this.use(this.unwrap(record.keyring), record);
    }
  }

  /** Wraps the keyring under the current seal key if the previous one opened it. */
  private async wrapWithCurrent(record: SealRecord): Promise<void> {
    const { current, previous } = this.sealKeys();
    if (!previous || this.storage.standbyLag) return;
    try {
      openWithSealKey(record.keyring, [current]).fill(0);
    } catch (error) {
      if (!(error instanceof WrongSealKey)) throw error;
      await rewrapSeal(this.storage.database, this.storage.barrier.keys.wrap(current), record.keyring);
      this.options.log?.info({}, 'the keyring is now wrapped with the new seal key; you can remove the previous key');
    }
  }

  private async open(keyring: Keyring, record: SealRecord): Promise<void> {
    this.use(keyring, record);
    await this.opened(record);
  }

  private async opened(record: SealRecord): Promise<void> {
    this.keysAre(record);
    for (const opened of this.openings) await opened();
  }

  private use(keyring: Keyring, record: SealRecord): void {
    this.storage.barrier.unseal(keyring);
    this.keysAre(record);
  }

  private keysAre({ generation }: SealRecord): void {
    this.inUse = generation;
    this.storage.changes.setGeneration(generation);
  }

  private drop(): void {
    this.storage.drop();
    this.inUse = 0;
    this.unsealKey?.fill(0);
    this.unsealKey = undefined;
    for (const closed of this.closings) closed();
  }

  private async load(): Promise<SealRecord | undefined> {
    this.record = await findSeal(this.storage.database);
    return this.record;
  }

  private sealKeys(): SealKeys {
    if (!this.options.sealKeys) throw new Error('an auto seal needs a seal key');
    return this.options.sealKeys();
  }

  /** Changes of the seal run one after the other. */
  private exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.busy.then(work);
    this.busy = result.catch(() => {});
    return result;
  }
}

function openedBy(record: SealRecord, key: Buffer): Keyring {
  try {
    return Keyring.unwrap(record.keyring, [key]);
  } catch (error) {
    if (error instanceof WrongSealKey) throw new Refusal('invalid', WRONG_SHARES);
    throw error;
  }
}

/** Encrypts each share to the key at the same index. */
export const encryptAll = (shares: readonly Buffer[], keys: readonly ShareKey[]): Promise<Buffer[]> =>
  Promise.all(shares.map((share, index) => encryptShare(share, keys[index]!)));
