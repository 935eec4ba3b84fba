import { createHmac } from 'node:crypto';
import { sameSecret } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import { deleteSetting, readSealedSetting, storeSealedSetting } from '../storage/settings';
import type { StorageKernel } from '../storage/storage';
import type { Tx } from '../storage/types';
import { Allowance } from './allowance';
import { checkShareLength, parseShare } from './shares';

const ROW = 'key-share-marks';
const cell = { table: 'setting', row: ROW, column: 'sealed' };
/** What is kept of a share: enough to recognise it, and no use for making it. In base64. */
export const markOf = (share: Uint8Array): string =>
  createHmac('sha256', share).update('keystead key share mark').digest('base64');

/**
 * The marks of the current shares, sealed, so that each holder can check a share without the others. A check uses nothing
 * up and advances no ceremony.
 */
export class ShareMarks {
  private readonly allowance = new Allowance();

  constructor(private readonly storage: StorageKernel) {}

  /** Keeps the marks of shares that come into force; without marks, what is kept of earlier shares goes. */
  async keep({ prisma }: Tx, marks: readonly string[] | undefined): Promise<void> {
    if (marks) await storeSealedSetting(prisma, ROW, this.storage.barrier.sealJson(marks, cell));
    else await deleteSetting(prisma, ROW);
  }

  /**
   * Whether a share is one of the current ones; takes the same time for each of them. Throws `invalid` for text that is not
   * a share and where no marks were kept, `limited` when asked too quickly.
   */
  async recognises(keyText: string): Promise<boolean> {
    this.allowance.take();
    const share = parseShare(keyText);
    checkShareLength(share);
    const isCurrent = await this.knows(share);
    if (isCurrent === undefined) throw olderShares();
    return isCurrent;
  }

  /** The same for a share that was read, as often as one likes; undefined if no marks were kept. */
  async knows(share: Buffer): Promise<boolean | undefined> {
    const sealed = await readSealedSetting(this.storage.database.prisma, ROW);
    if (!sealed) return undefined;
    const mark = Buffer.from(markOf(share), 'base64');
    let found = false;
    for (const kept of this.storage.barrier.openJson<string[]>(sealed, cell)) {
      if (sameSecret(Buffer.from(kept, 'base64'), mark)) found = true;
    }
    return found;
  }
}

/** A single share of this seal cannot be checked. */
export const olderShares = (): Refusal =>
  new Refusal('invalid', 'the present shares are older than this check; rekey to enable it');
