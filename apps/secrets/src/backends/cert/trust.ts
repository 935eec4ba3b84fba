import { Refusal } from '@keystead/refusal';
import { LRUCache } from 'lru-cache';
import { Globs } from '../../sdk/globs';
import type { Certificate } from './certificate';
import { type Chain, chainsOf, checkClient, Unverified } from './chain';
import { meets } from './constraints';
import { type CertRole, readAll } from './role';

/** A role with its name. */
export interface NamedRole {
  readonly name: string;
  readonly role: CertRole;
}

/** Decides which role a client’s certificates fit. */
export class Trust {
  /** Reading a certificate takes as long as ten comparisons; the same ones are asked for at every login. */
  private readonly known = new LRUCache<string, readonly Certificate[]>({
    max: 500,
    maxSize: 8 << 20,
    sizeCalculation: (_, pem) => pem.length + 1,
  });

  /**
   * The first of the roles that trusts a certificate, and whose constraints it meets. Throws `invalid` with what clients of
   * this method are told.
   */
  match(
    [own, ...sent]: readonly [Certificate, ...Certificate[]],
    roles: readonly NamedRole[],
    nowMs: number,
  ): NamedRole {
    const compare = new Globs();
    const trusted = roles.map((named) => ({ named, certificates: this.read(named.role.certificate ?? '') }));
    const meeting = (found: typeof trusted) => found.find(({ named }) => meets(own, named.role, compare))?.named;
    try {
      checkClient(own, nowMs);
      const same = trusted.filter(({ certificates }) => certificates.some(({ der }) => der.equals(own.der)));
      const listed = meeting(same);
      if (listed) return listed;
      const chains = chainsOf(own, sent, authoritiesOf(trusted.flatMap(({ certificates }) => certificates)), nowMs);
      const fitting = trusted.filter(({ certificates }) => chains.some((chain) => endsAmong(chain, certificates)));
      const issued = meeting(fitting);
      if (issued) return issued;
      if (same.length + fitting.length === 0) throw invalid('invalid certificate or no client certificate supplied');
    } catch (error) {
      if (error instanceof Unverified) throw invalid(`failed to verify client's certificate: ${error.message}`);
      throw error;
    }
    throw invalid('no chain matching all constraints could be found for this login certificate');
  }

  private read(pem: string): readonly Certificate[] {
    const known = this.known.get(pem);
    if (known) return known;
    const read = readAll(pem);
    this.known.set(pem, read);
    return read;
  }
}

const endsAmong = (chain: Chain, certificates: Chain): boolean =>
  certificates.some(({ der }) => der.equals(chain.at(-1)!.der));

/** Each once. */
function authoritiesOf(certificates: Chain): Certificate[] {
  const byDer = new Map(
    certificates.flatMap((one) => (one.isAuthority ? [[one.der.toString('latin1'), one] as const] : [])),
  );
  return [...byDer.values()];
}

const invalid = (text: string): Refusal => new Refusal('invalid', text);
