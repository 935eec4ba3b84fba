import type { Cell, Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import type { Barrier } from './types';

/** The barrier of one process. It contains the keyring only while the service is unsealed. */
export class KeyringBarrier implements Barrier {
  private keyring: Keyring | undefined;
  /** The number of values sealed under the newest key. It continues if the same keys are read again. */
  sealedCount = 0;
  private countedVersion = 0;

  get sealed(): boolean {
    return this.keyring === undefined;
  }

  /** The keyring in use; throws `sealed`. Only sealing and rotation need it. */
  get keys(): Keyring {
    if (!this.keyring) throw new Refusal('sealed', 'Service is sealed');
    return this.keyring;
  }

  /** Activates a keyring and wipes the previous one. */
  unseal(keyring: Keyring): void {
    if (this.keyring && this.keyring !== keyring) this.keyring.destroy();
    this.keyring = keyring;
    if (keyring.version === this.countedVersion) return;
    this.countedVersion = keyring.version;
    this.sealedCount = 0;
  }

  /** Wipes the keys of this process. */
  drop(): void {
    this.keyring?.destroy();
    this.keyring = undefined;
  }

  seal(plain: Uint8Array, at: Cell): Buffer<ArrayBuffer> {
    this.sealedCount++;
    return this.keys.seal(plain, at);
  }

  /** True for a value sealed with a key that is newer than this node's. `open` checks everything else. */
  isNewer(sealed: Buffer): boolean {
    return this.keyring !== undefined && sealed.length > 5 && sealed.readUInt32BE(1) > this.keyring.version;
  }

  open(sealed: Uint8Array, at: Cell): Buffer {
    return this.keys.open(sealed, at);
  }

  sealJson(value: unknown, at: Cell): Buffer<ArrayBuffer> {
    return this.seal(Buffer.from(JSON.stringify(value)), at);
  }

  openJson<T>(sealed: Uint8Array, at: Cell): T {
    return JSON.parse(this.keys.open(sealed, at).toString()) as T;
  }

  mac(purpose: string, data: string | Uint8Array): Buffer<ArrayBuffer> {
    return this.keys.mac(purpose, data);
  }

  derive(purpose: string): Buffer {
    return this.keys.derive(purpose);
  }
}
