import { isRefusal, Refusal } from '@keystead/refusal';
import { LRUCache } from 'lru-cache';
import { Globs } from '../../sdk/globs';
import type { Storage } from '../../sdk/storage';
import type { Certificate } from './certificate';
import { type Chain, chainsOf, checkClient, isIssuedBy, Unverified } from './chain';
import { meets } from './constraints';
import { revokedAmong } from './lists';
import type { OcspMemory, Responders } from './responders';
import { allRoles, type CertRole, readAll } from './role';

/** A role with its name. */
export interface NamedRole {
  readonly name: string;
  readonly role: CertRole;
}

/** Where and when certificates are judged. */
export interface Court {
  readonly storage: Storage;
  readonly memory: OcspMemory;
  readonly nowMs: number;
}

/** The role that a client’s certificates fit. */
export interface Verdict extends NamedRole {
  /** The role lets in who could not be looked up, and this one could not. */
  readonly unsure: boolean;
}

/** Decides which role a client’s certificates fit. */
export class Trust {
  /** Reading a certificate takes as long as ten comparisons; the same ones are asked for at every login. */
  private readonly known = new LRUCache<string, readonly Certificate[]>({
    max: 500,
    maxSize: 8 << 20,
    sizeCalculation: (_, pem) => pem.length + 1,
  });

  constructor(private readonly responders: Responders) {}

  /**
   * The first of the roles that trusts a certificate, and whose constraints it meets. Throws `invalid` with the message
   * of this method's reference, `upstream` where a needed lookup fails.
   */
  async match(
    [own, ...sent]: readonly [Certificate, ...Certificate[]],
    roles: readonly NamedRole[],
    court: Court,
  ): Promise<Verdict> {
    const compare = new Globs();
    const trusted = roles.map((named) => ({ named, certificates: this.read(named.role.certificate ?? '') }));
    const failures: Refusal[] = [];
    const judge = async (candidates: readonly { named: NamedRole; chain: Chain }[]): Promise<Verdict | undefined> => {
      for (const { named, chain } of candidates) {
        const { role } = named;
        if (!meets(own, role, compare)) continue;
        if (!role.ocsp_enabled) return { ...named, unsure: false };
        const said = await this.lookUp(own, chain, role, court);
        if (said === 'good') return { ...named, unsure: false };
        if (said === 'revoked') continue;
        if (role.ocsp_fail_open) return { ...named, unsure: true };
        failures.push(said);
      }
      return undefined;
    };
    try {
      checkClient(own, court.nowMs);
      const same = trusted.filter(({ certificates }) => certificates.some(({ der }) => der.equals(own.der)));
      const unchained = same.length === 0 ? [] : await standing([[own]], court.storage);
      const listed = await judge(unchained.flatMap((chain) => same.map(({ named }) => ({ named, chain }))));
      if (listed) return listed;
      const chains = chainsOf(
        own,
        sent,
        authoritiesOf(trusted.flatMap(({ certificates }) => certificates)),
        court.nowMs,
      );
      if (same.length + chains.length === 0) throw invalid('invalid certificate or no client certificate supplied');
      const good = await standing(chains, court.storage);
      const issued = await judge(
        trusted.flatMap(({ named, certificates }) => {
          const chain = good.find((one) => endsAmong(one, certificates));
          return chain ? [{ named, chain }] : [];
        }),
      );
      if (issued) return issued;
    } catch (error) {
      if (error instanceof Unverified) throw invalid(`failed to verify client's certificate: ${error.message}`);
      throw error;
    }
    throw failures[0] ?? invalid('no chain matching all constraints could be found for this login certificate');
  }

  /** The certificates of all roles of a mount. */
  async authoritiesIn(storage: Storage): Promise<readonly Certificate[]> {
    const roles = await allRoles(storage);
    return roles.flatMap(({ role }) => this.read(role.certificate ?? ''));
  }

  private async lookUp(own: Certificate, chain: Chain, role: CertRole, { memory, nowMs }: Court) {
    const trusted = this.read(role.ocsp_ca_certificates);
    const issuer = chain[1] ?? trusted.find((one) => isIssuedBy(own, one));
    if (!issuer) return invalid('ocsp_ca_certificates does not contain its issuer');
    const rules = {
      servers: role.ocsp_servers_override,
      trusted,
      everyone: role.ocsp_query_all_servers,
      maxAgeMs: role.ocsp_this_update_max_age * 1000,
      retries: role.ocsp_max_retries,
    };
    try {
      const said = await this.responders.commitStatusOf(own, issuer, rules, memory, nowMs);
      return said === 'unknown' ? invalid('unknown OCSP status of the certificate') : said;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return error;
    }
  }

  private read(pem: string): readonly Certificate[] {
    const known = this.known.get(pem);
    if (known) return known;
    const read = readAll(pem);
    this.known.set(pem, read);
    return read;
  }
}

/** The chains of which nothing is revoked by its issuer. */
async function standing(chains: readonly Chain[], storage: Storage): Promise<readonly Chain[]> {
  const revoked = await revokedAmong(storage, [...new Set(chains.flat())]);
  return chains.filter((chain) => !chain.some((one) => revoked.has(one)));
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
