import { isRefusal, Refusal } from '@keystead/refusal';
import { LRUCache } from 'lru-cache';
import { Globs } from '../../sdk/globs';
import type { Storage } from '../../sdk/storage';
import type { Certificate } from './certificate';
import { type Chain, chainsOf, checkClient, isIssuedBy, Unverified } from './chain';
import { meetsConstraints } from './constraints';
import { revokedAmong } from './lists';
import type { OcspMemory, Responders } from './responders';
import { allRoles, type CertRole, readAll } from './role';

/** A role with its name. */
export interface NamedRole {
  readonly name: string;
  readonly role: CertRole;
}

/** The storage and the time that a decision about certificates uses. */
export interface Court {
  readonly storage: Storage;
  readonly memory: OcspMemory;
  readonly nowMs: number;
}

/** The role that matches a client’s certificates. */
export interface Verdict extends NamedRole {
  /** True if the role accepts certificates of unknown status, and the status of this certificate is unknown. */
  readonly unsure: boolean;
}

/** Decides which role matches a client’s certificates. */
export class Trust {
  /**
   * A cache of parsed certificates. All logins need the same certificates, and parsing one takes as long as ten
   * comparisons.
   */
  private readonly parsed = new LRUCache<string, readonly Certificate[]>({
    max: 500,
    maxSize: 8 << 20,
    sizeCalculation: (_, pem) => pem.length + 1,
  });

  constructor(private readonly responders: Responders) {}

  /**
   * The first role that trusts the certificate and whose constraints the certificate meets. Throws `invalid` with the
   * message of this method's reference, `upstream` if a needed lookup fails.
   */
  async match(
    [leaf, ...sent]: readonly [Certificate, ...Certificate[]],
    roles: readonly NamedRole[],
    context: Court,
  ): Promise<Verdict> {
    const compare = new Globs();
    const trusted = roles.map((namedRole) => ({
      named: namedRole,
      certificates: this.read(namedRole.role.certificate ?? ''),
    }));
    const failures: Refusal[] = [];
    const verdictOn = async (
      candidates: readonly { named: NamedRole; chain: Chain }[],
    ): Promise<Verdict | undefined> => {
      for (const { named, chain } of candidates) {
        const { role } = named;
        if (!meetsConstraints(leaf, role, compare)) continue;
        if (!role.ocsp_enabled) return { ...named, unsure: false };
        const statuses = await this.lookUp(leaf, chain, role, context);
        if (statuses === 'good') return { ...named, unsure: false };
        if (statuses === 'revoked') continue;
        if (role.ocsp_fail_open) return { ...named, unsure: true };
        failures.push(statuses);
      }
      return undefined;
    };
    try {
      checkClient(leaf, context.nowMs);
      const same = trusted.filter(({ certificates }) => certificates.some(({ der }) => der.equals(leaf.der)));
      const unchained = same.length === 0 ? [] : await currentChains([[leaf]], context.storage);
      const listed = await verdictOn(unchained.flatMap((chain) => same.map(({ named }) => ({ named, chain }))));
      if (listed) return listed;
      const chains = chainsOf(
        leaf,
        sent,
        authoritiesOf(trusted.flatMap(({ certificates }) => certificates)),
        context.nowMs,
      );
      if (same.length + chains.length === 0) throw invalid('invalid certificate or no client certificate supplied');
      const good = await currentChains(chains, context.storage);
      const issued = await verdictOn(
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

  private async lookUp(leaf: Certificate, chain: Chain, role: CertRole, { memory, nowMs }: Court) {
    const trusted = this.read(role.ocsp_ca_certificates);
    const issuer = chain[1] ?? trusted.find((one) => isIssuedBy(leaf, one));
    if (!issuer) return invalid('ocsp_ca_certificates does not contain its issuer');
    const rules = {
      servers: role.ocsp_servers_override,
      trusted,
      everyone: role.ocsp_query_all_servers,
      maxAgeMs: role.ocsp_this_update_max_age * 1000,
      retries: role.ocsp_max_retries,
    };
    try {
      const status = await this.responders.commitStatusOf(leaf, issuer, rules, memory, nowMs);
      return status === 'unknown' ? invalid('unknown OCSP status of the certificate') : status;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return error;
    }
  }

  private read(pem: string): readonly Certificate[] {
    const cached = this.parsed.get(pem);
    if (cached) return cached;
    const read = readAll(pem);
    this.parsed.set(pem, read);
    return read;
  }
}

/** The chains without a revoked certificate. */
async function currentChains(chains: readonly Chain[], storage: Storage): Promise<readonly Chain[]> {
  const revoked = await revokedAmong(storage, [...new Set(chains.flat())]);
  return chains.filter((chain) => !chain.some((one) => revoked.has(one)));
}

const endsAmong = (chain: Chain, certificates: Chain): boolean =>
  certificates.some(({ der }) => der.equals(chain.at(-1)!.der));

/** The CA certificates of a chain, without duplicates. */
function authoritiesOf(certificates: Chain): Certificate[] {
  const byDer = new Map(
    certificates.flatMap((one) => (one.isAuthority ? [[one.der.toString('latin1'), one] as const] : [])),
  );
  return [...byDer.values()];
}

const invalid = (text: string): Refusal => new Refusal('invalid', text);
