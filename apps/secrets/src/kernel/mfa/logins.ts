import { randomUUID } from 'node:crypto';
import { isRefusal, Refusal } from '@keystead/refusal';
import { isId } from '../identity/checks';
import type { Tx } from '../storage/types';
import type { EnforceableLogin, Enforcements } from './enforcements';
import type { CorrectFactor, Factors, WrongFactor } from './factors';
import type { Methods } from './methods';
import type { MfaSecrets } from './secrets';
import type { Enforcement, MfaMethod, MfaNeeds, NewSecret, PendingLogin } from './types';

/** How long a login waits for its second factors. */
const pendingMs = 5 * 60_000;

/** The second factors that a login must still prove, as shown to the client. */
export interface MfaRequirement {
  readonly requestId: string;
  readonly constraints: readonly { readonly enforcement: string; readonly methods: readonly MfaMethod[] }[];
}

/** Passcodes by method id or name. */
export type Passcodes = ReadonlyMap<string, string>;

/** A login to check, with its user, and the reply that finishes it later. */
export interface MfaLogin extends EnforceableLogin {
  readonly mountId: string;
  readonly path: string;
  readonly address: string;
  readonly login: unknown;
  readonly withPasskey: boolean;
}

interface PendingRow {
  readonly sealed: Uint8Array;
}

/**
 * Second factors of logins: in one step with passcodes in the request, or in two steps with a waiting login.
 * Spec: TOTP MFA.
 */
export class MfaLogins {
  constructor(
    private readonly needs: MfaNeeds,
    private readonly methods: Methods,
    private readonly enforcements: Enforcements,
    private readonly secrets: MfaSecrets,
    private readonly factors: Factors,
  ) {}

  /**
   * Checks the second factors of a login. Undefined if none are required or those in the request are correct. Otherwise
   * returns the required factors, and the login waits. Throws `denied` if the factors in the request are not
   * sufficient.
   */
  async demand(login: MfaLogin, sentPasscodes: readonly string[]): Promise<MfaRequirement | undefined> {
    const matching = await this.enforcements.matching(login);
    const enforcements = login.withPasskey ? await this.unmetByPasskey(matching) : matching;
    if (enforcements.length === 0) return undefined;
    if (sentPasscodes.length > 0) {
      await this.satisfyWithPasscodes(enforcements, login.entityId, sentPasscodes);
      return undefined;
    }
    return this.suspend(login, enforcements);
  }

  /**
   * Checks the passcodes of a waiting login, and returns the login, which no longer waits and must be finished. Throws
   * `malformed` for an unknown request, `denied` if the passcodes are not enough.
   */
  async validate(namespaceId: string, requestId: string, passcodes: Passcodes): Promise<PendingLogin> {
    const hash = this.hash(requestId);
    const pending = await this.find(hash, namespaceId);
    const enforcements = await this.stillThere(pending);
    const methods = await this.methods.findMany(enforcements.flatMap(({ methodIds }) => methodIds));
    if (passcodes.size === 0) throw unsanitary(methods, enforcements);
    const check: Judge = (method, passcode) => this.judge(method, passcode, pending);
    await this.satisfyAll(enforcements, methods, passcodes, check, async (tx) => {
      // Of two simultaneous validations of one login, only one finishes it.
      const { count } = await tx.prisma.mfaPending.deleteMany({ where: { hash } });
      if (count !== 1) throw new Refusal('malformed', 'invalid request ID');
    });
    return pending;
  }

  /**
   * Creates a secret for a waiting login whose method allows self-enrolment. The secret becomes valid when one of its
   * codes validates the login. Works only once per login. Throws `malformed` or `denied`.
   */
  async enrol(namespaceId: string, requestId: string, methodId: string): Promise<NewSecret> {
    const hash = this.hash(requestId);
    const pending = await this.find(hash, namespaceId);
    const enforcements = await this.stillThere(pending);
    const isRequired = enforcements.some(({ methodIds }) => methodIds.includes(methodId));
    const method = isRequired ? (await this.methods.findMany([methodId])).get(methodId) : undefined;
    if (!method?.selfEnrolment) throw new Refusal('denied', 'self-enrolment is not available for this login');
    if (await this.secrets.exists(methodId, pending.entityId)) {
      throw new Refusal('denied', 'self-enrolment is not available for this login');
    }
    const { secret, shown: newSecret } = await this.secrets.prepare(method, pending.entityId);
    const run = async (tx: Tx) => {
      await tx.prisma.$executeRaw`SELECT FROM mfa_pending WHERE hash = ${hash} FOR UPDATE`;
      const row = await tx.prisma.mfaPending.findUnique({ where: { hash }, select: { sealed: true } });
      if (!row) throw new Refusal('malformed', 'invalid request ID');
      const latest = this.open(hash, row);
      if (latest.enrolment) throw new Refusal('denied', 'self-enrolment was already begun for this login');
      const next: PendingLogin = { ...latest, enrolment: { methodId, secret, recoveryCodes: newSecret.recoveryCodes } };
      await tx.prisma.mfaPending.updateMany({ where: { hash }, data: { sealed: this.seal(hash, next) } });
    };
    await this.needs.committer.transaction(run);
    return newSecret;
  }

  /**
   * The enforcements that a login with a passkey does not meet. One method of an enforcement that accepts passkeys is
   * sufficient.
   */
  private async unmetByPasskey(enforcements: readonly Enforcement[]): Promise<readonly Enforcement[]> {
    const methods = await this.methods.findMany(enforcements.flatMap(({ methodIds }) => methodIds));
    return enforcements.filter(({ methodIds }) => !methodIds.some((id) => methods.get(id)?.acceptsPasskeys));
  }

  private async suspend(login: MfaLogin, enforcements: readonly Enforcement[]): Promise<MfaRequirement> {
    const requestId = randomUUID();
    const hash = this.hash(requestId);
    const { namespaceId, entityId, mountId, path, address } = login;
    const enforcementIds = enforcements.map(({ id }) => id);
    const pending: PendingLogin = { namespaceId, entityId, mountId, path, address, login: login.login, enforcementIds };
    const expiresAtMs = this.needs.clock.now() + pendingMs;
    const data = { hash, namespaceId, entityId, expiresAtMs, sealed: this.seal(hash, pending) };
    await this.needs.database.prisma.mfaPending.create({ data, select: { hash: true } });
    const methods = await this.methods.findMany(enforcements.flatMap(({ methodIds }) => methodIds));
    return {
      requestId,
      constraints: enforcements.map(({ name, methodIds }) => ({
        enforcement: name,
        methods: methodIds.map((id) => methods.get(id)).filter((method) => method !== undefined),
      })),
    };
  }

  private async satisfyWithPasscodes(
    enforcements: readonly Enforcement[],
    entityId: string,
    sentPasscodes: readonly string[],
  ): Promise<void> {
    const methods = await this.methods.findMany(enforcements.flatMap(({ methodIds }) => methodIds));
    const passcodes = passcodesOf(sentPasscodes);
    try {
      await this.satisfyAll(enforcements, methods, passcodes, (method, passcode) =>
        this.factors.judge(method, entityId, passcode),
      );
    } catch (error) {
      if (isRefusal(error) && error.kind === 'denied') throw new Refusal('denied', 'permission denied');
      throw error;
    }
  }

  private async judge(method: MfaMethod, passcode: string, { entityId, enrolment }: PendingLogin) {
    return enrolment?.methodId === method.id
      ? this.factors.judgeEnrolment(method, entityId, passcode, enrolment)
      : this.factors.judge(method, entityId, passcode);
  }

  /**
   * If one method of every enforcement is proven, uses up the passcodes and runs `also` in the same transaction.
   * Otherwise throws `denied` and uses up nothing. If a factor is missing, checks nothing.
   */
  private async satisfyAll(
    enforcements: readonly Enforcement[],
    methods: ReadonlyMap<string, MfaMethod>,
    passcodes: Passcodes,
    judge: Judge,
    also?: (tx: Tx) => Promise<void>,
  ): Promise<void> {
    const missing = enforcements.find(({ methodIds }) =>
      methodIds.every((id) => !methods.has(id) || passcodeFor(methods.get(id)!, passcodes) === undefined),
    );
    if (missing) throw unsanitary(methods, [missing]);
    // A method in several enforcements is checked once, because a code is accepted only once.
    const verdicts = new Map<string, CorrectFactor | WrongFactor>();
    const right = () => [...verdicts.values()].filter((factor) => factor.ok);
    for (const { name, methodIds } of enforcements) {
      const failures: string[] = [];
      const complaints: string[] = [];
      for (const id of methodIds) {
        const method = methods.get(id);
        const passcode = method && passcodeFor(method, passcodes);
        if (!method || passcode === undefined) continue;
        const factor = verdicts.get(id) ?? (await judge(method, passcode));
        verdicts.set(id, factor);
        failures.push(id);
        if (factor.ok) break;
        complaints.push(factor.reason);
      }
      if (complaints.length < failures.length) continue;
      await this.factors.giveBack(right());
      throw unsatisfied(name, complaints, failures);
    }
    const used = await this.factors.settle(right(), also);
    if (used !== undefined) throw unsatisfied(enforcements[0]!.name, [used], [...verdicts.keys()]);
  }

  /** The enforcements of a waiting login that still exist. If there are none left, the login must start again. */
  private async stillThere(pending: PendingLogin): Promise<Enforcement[]> {
    const all = await this.enforcements.byIds(pending.enforcementIds);
    if (all.length === 0) throw new Refusal('malformed', 'invalid request ID');
    return all;
  }

  private async find(hash: Buffer<ArrayBuffer>, namespaceId: string): Promise<PendingLogin> {
    const where = { hash, expiresAtMs: { gt: this.needs.clock.now() }, namespaceId };
    const row = await this.needs.database.prisma.mfaPending.findFirst({ where, select: { sealed: true } });
    if (!row) throw new Refusal('malformed', 'invalid request ID');
    return this.open(hash, row);
  }

  private hash(requestId: string): Buffer<ArrayBuffer> {
    if (!isId(requestId)) throw new Refusal('malformed', 'invalid request ID');
    return this.needs.barrier.mac('mfa-request', requestId.toLowerCase());
  }

  private seal(hash: Buffer, pending: PendingLogin): Buffer<ArrayBuffer> {
    return this.needs.barrier.sealJson(pending, cellOf(hash));
  }

  private open(hash: Buffer, row: PendingRow): PendingLogin {
    return this.needs.barrier.openJson<PendingLogin>(row.sealed, cellOf(hash));
  }
}

type Judge = (method: MfaMethod, passcode: string) => Promise<CorrectFactor | WrongFactor>;

const cellOf = (hash: Buffer) => ({ table: 'mfa_pending', row: hash.toString('hex'), column: 'sealed' });

/** Removes the prefix of a passcode that was sent as `passcode=123456`. */
function withoutPrefix(passcode: string): string {
  return passcode.startsWith('passcode=') ? passcode.slice('passcode='.length) : passcode;
}

/** Passcodes from the request header: `<method id or name>:<passcode>`. */
export function passcodesOf(sentPasscodes: readonly string[]): Passcodes {
  const passcodes = new Map<string, string>();
  for (const sent of sentPasscodes) {
    // The last colon, because names may contain colons but passcodes cannot.
    const colon = sent.lastIndexOf(':');
    if (colon > 0) passcodes.set(sent.slice(0, colon).trim(), withoutPrefix(sent.slice(colon + 1)));
  }
  return passcodes;
}

/** The passcode for a method, under its id or its name. */
export function passcodeFor({ id, name }: MfaMethod, passcodes: Passcodes): string | undefined {
  return passcodes.get(id) ?? (name === '' ? undefined : passcodes.get(name));
}

function unsatisfied(enforcement: string, complaints: readonly string[], methodIds: readonly string[]): Refusal {
  const all = [...complaints, `login MFA validation failed for methodID: [${methodIds.join(' ')}]`];
  const lines = all.map((text) => `\t* ${text}\n`).join('');
  return new Refusal(
    'denied',
    `failed to satisfy enforcement ${enforcement}. error: ${all.length} errors occurred:\n${lines}\n`,
  );
}

function unsanitary(
  methods: ReadonlyMap<string, MfaMethod>,
  enforcements: readonly Pick<Enforcement, 'methodIds'>[],
): Refusal {
  const id = enforcements[0]?.methodIds[0] ?? '';
  const name = methods.get(id)?.name ?? '';
  return new Refusal(
    'denied',
    `failed to sanitize MFA creds, 1 error occurred:\n\t* failed to find MFA credentials associated with an MFA method ID ${id}, method name ${name}\n\n`,
  );
}
