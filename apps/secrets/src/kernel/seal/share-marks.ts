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
/** A mark of a share, in base64: enough to recognise the share, not to restore it. */
export const markOf = (share: Uint8Array): string =>
  createHmac('sha256', share).update('keystead key share mark').digest('base64');

/**
 * The marks of the current shares, sealed, so that each holder can check a share without the others. A check does not
 * advance a ceremony.
 */
export class ShareMarks {
  private readonly allowance = new Allowance();

  constructor(private readonly storage: StorageKernel) {}

  /** Stores the marks of new shares; without marks, those of earlier shares are removed. */
  async keep({ prisma }: Tx, marks: readonly string[] | undefined): Promise<void> {
    if (marks) await storeSealedSetting(prisma, ROW, this.storage.barrier.sealJson(marks, cell));
    else await deleteSetting(prisma, ROW);
  }

  /**
   * Whether a share is one of the current ones; takes constant time. Throws `invalid` for text that is not a share and
   * if there are no marks, `limited` for too many calls.
   */
  async recognises(keyText: string): Promise<boolean> {
    this.allowance.take();
    const share = parseShare(keyText);
    checkShareLength(share);
    const isCurrent = await this.knows(share);
    if (isCurrent === undefined) throw olderShares();
    return isCurrent;
  }

  /** Whether a parsed share is a current one, without a limit on calls; undefined if there are no marks. */
  async knows(share: Buffer): Promise<boolean | undefined> {
    const sealed = await readSealedSetting(this.storage.database.prisma, ROW);
    if (!sealed) return undefined;
    const mark = Buffer.from(markOf(share), 'base64');
    let found = false;
    for (const storedMark of this.storage.barrier.openJson<string[]>(sealed, cell)) {
      if (sameSecret(Buffer.from(storedMark, 'base64'), mark)) found = true;
    }
    return found;
  }
}

/** The refusal if the shares were created by an earlier version, so that a single share cannot be checked. */
export const olderShares = (): Refusal =>
  new Refusal('invalid', 'the current shares were created before this check existed; rekey to enable it');
