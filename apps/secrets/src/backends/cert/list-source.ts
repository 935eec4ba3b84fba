import { Refusal } from '@keystead/refusal';
import { OutsideCalls } from '../../sdk/outside-call';
import type { Storage } from '../../sdk/storage';
import { type Certificate, isServer } from './certificate';
import { type RevocationList, readList } from './revocation-list';
import { isSignedBy } from './signature';

const who = 'the address of the CRL';

/** Fetches lists of revoked certificates. */
export class ListSource {
  private readonly calls: OutsideCalls;

  /** `authorities` returns the certificates of all roles of a mount. */
  constructor(
    clock: { now(): number },
    private readonly authorities: (storage: Storage) => Promise<readonly Certificate[]>,
  ) {
    this.calls = new OutsideCalls(clock);
  }

  /**
   * The CRL at an address, signed by a certificate that a role trusts. Throws `invalid` for an invalid address,
   * `upstream` for anything other than a CRL.
   */
  async fetch(url: string, storage: Storage, nowMs: number): Promise<RevocationList> {
    if (!isServer(url)) throw new Refusal('invalid', 'invalid CRL url: it must be an address of http or https');
    const { status, bytes } = await this.calls.call(who, url, { headers: { accept: 'application/pkix-crl' } });
    if (status !== 200) throw new Refusal('upstream', `${who} answered ${status}`);
    const list = read(bytes);
    const signers = (await this.authorities(storage)).filter(({ subjectName, mayNotSignLists }) => {
      return subjectName === list.issuer && !mayNotSignLists;
    });
    if (!signers.some(({ key }) => isSignedBy(list, key))) {
      throw new Refusal('upstream', `${who} returned a CRL that no certificate of a role in this mount signed`);
    }
    if (list.nextUpdateMs !== undefined && list.nextUpdateMs < nowMs) {
      throw new Refusal('upstream', `${who} returned an expired CRL`);
    }
    return list;
  }
}

function read(bytes: Buffer): RevocationList {
  try {
    return readList(bytes);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal('upstream', `${who} returned no CRL: ${error.message}`, [], { cause: error });
  }
}
