import { randomBytes } from 'node:crypto';
import { isRefusal } from '@keystead/refusal';
import type { Identity } from '../identity/identity';
import type { Leases } from '../leases/leases';
import type { Namespaces } from '../namespaces/namespaces';
import type { StorageKernel } from '../storage/storage';
import type { Tx, WriteSet } from '../storage/types';
import { add } from '../storage/write-set';
import type { TokenRecord, Tokens } from '../tokens/types';
import type { ConsoleRules, ConsoleSession, SignedInBy } from './types';

/** The parts of the kernel that sessions use. */
interface Parts {
  readonly storage: StorageKernel;
  readonly tokens: Tokens;
  readonly leases: Leases;
  readonly identity: Identity;
  readonly namespaces: Namespaces;
  readonly rules: ConsoleRules;
}

/** The token for a new session. */
interface Held {
  readonly token: string;
  readonly record: TokenRecord;
}

interface Sealed {
  readonly token: string;
  readonly by: SignedInBy;
}

/** 256 bits that only the browser has. */
const idBytes = 32;
const idPattern = /^[A-Za-z0-9_-]{43}$/;
/** The shortest time between two recorded uses. */
const noteMs = 15_000;
/** A token that expires earlier is renewed to this TTL. */
const renewBelowMs = 30 * 60_000;
const renewSeconds = 3600;
/** How long a step-up lasts. */
const stepUpMs = 5 * 60_000;
const tidiedAtOnce = 200;

/**
 * Sessions of the console. The browser has a random id; the database has the keyed hash of the id and the sealed token.
 * Nothing is cached, so a session that one node ends has ended on all nodes. If the token ends, its session ends too,
 * and vice versa.
 */
export class ConsoleSessions {
  constructor(private readonly parts: Parts) {
    parts.storage.background.every('console sessions', 30_000, () => this.tidy(), { byTime: true });
  }

  /** Adds a session to the write set that creates its token, or to an empty one. */
  begin(
    { token, record }: Held,
    by: SignedInBy,
    set: WriteSet,
  ): { readonly id: string; readonly session: ConsoleSession } {
    const { storage, rules } = this.parts;
    const id = randomBytes(idBytes).toString('base64url');
    const hash = this.hashOf(id);
    const now = storage.clock.now();
    const expiresAtMs = now + rules.sessionSeconds * 1000;
    const session: ConsoleSession = {
      hash,
      by,
      token,
      record,
      createdAtMs: now,
      usedAtMs: now,
      idleEndsAtMs: this.idleEnd(now, expiresAtMs),
      expiresAtMs,
      // Signing in is a step-up.
      stepUpUntilMs: now + stepUpMs,
    };
    const sealed: Sealed = { token, by };
    add(set, 'run', async (tx: Tx) => {
      await tx.prisma.consoleSession.create({
        data: {
          hash,
          tokenHash: Buffer.from(record.hash),
          createdAtMs: now,
          usedAtMs: now,
          idleEndsAtMs: session.idleEndsAtMs,
          expiresAtMs,
          stepUpUntilMs: session.stepUpUntilMs,
          sealed: storage.barrier.sealJson(sealed, cellOf(hash)),
        },
        select: { hash: true },
      });
    });
    return { id, session };
  }

  /**
   * Finds an active session by id; undefined if the session does not exist or its token has expired. `use` restarts the
   * idle time, and renews a token that would expire soon.
   */
  async find(id: string, { use }: { readonly use: boolean }): Promise<ConsoleSession | undefined> {
    if (!idPattern.test(id)) return undefined;
    const { storage, tokens } = this.parts;
    const hash = this.hashOf(id);
    const now = storage.clock.now();
    const row = await storage.database.prisma.consoleSession.findFirst({ where: { hash, idleEndsAtMs: { gt: now } } });
    if (!row) return undefined;
    const { token, by } = storage.barrier.openJson<Sealed>(row.sealed, cellOf(hash));
    const record = await tokens.find(token);
    if (!record) return undefined;
    const session: ConsoleSession = {
      hash,
      by,
      token,
      record,
      createdAtMs: Number(row.createdAtMs),
      usedAtMs: Number(row.usedAtMs),
      idleEndsAtMs: Number(row.idleEndsAtMs),
      expiresAtMs: Number(row.expiresAtMs),
      stepUpUntilMs: Number(row.stepUpUntilMs),
    };
    return use ? this.noteUse(session, now) : session;
  }

  /**
   * Ends a session and its token. Does nothing if the session has already ended. A batch token cannot be revoked, so it
   * is only forgotten.
   */
  async end({ hash, record }: Pick<ConsoleSession, 'hash' | 'record'>): Promise<void> {
    await this.parts.storage.database.prisma.consoleSession.deleteMany({ where: { hash: Buffer.from(hash) } });
    if (record.type === 'service') await this.parts.leases.endToken(record);
  }

  /** Records that the holder has confirmed their identity. */
  async stepUp(session: ConsoleSession): Promise<ConsoleSession> {
    const { storage } = this.parts;
    const stepUpUntilMs = storage.clock.now() + stepUpMs;
    const where = { hash: Buffer.from(session.hash) };
    await storage.database.prisma.consoleSession.updateMany({ where, data: { stepUpUntilMs } });
    return { ...session, stepUpUntilMs };
  }

  /** Ends the tokens of unused sessions, and the sessions of ended tokens. */
  private async tidy(): Promise<boolean> {
    const { storage, tokens, leases } = this.parts;
    const { prisma } = storage.database;
    const due = await prisma.consoleSession.findMany({
      where: { idleEndsAtMs: { lte: storage.clock.now() } },
      select: { hash: true, tokenHash: true },
      take: tidiedAtOnce,
    });
    for (const { hash, tokenHash } of due) {
      const record = await tokens.findByHash(Buffer.from(tokenHash));
      // Ends the token first: a crash in between leaves only a session, which is removed later.
      if (record) await leases.endToken(record);
      await prisma.consoleSession.deleteMany({ where: { hash } });
    }
    return due.length === tidiedAtOnce;
  }

  private async noteUse(session: ConsoleSession, now: number): Promise<ConsoleSession> {
    if (now - session.usedAtMs < noteMs) return session;
    const { storage } = this.parts;
    const idleEndsAtMs = this.idleEnd(now, session.expiresAtMs);
    const where = { hash: Buffer.from(session.hash), usedAtMs: { lt: now } };
    await storage.database.prisma.consoleSession.updateMany({ where, data: { usedAtMs: now, idleEndsAtMs } });
    return { ...session, record: await this.prolonged(session.record, now), usedAtMs: now, idleEndsAtMs };
  }

  private async prolonged(record: TokenRecord, now: number): Promise<TokenRecord> {
    const { expiresAtMs, renewable } = record;
    if (!renewable || expiresAtMs === undefined || expiresAtMs - now > renewBelowMs) return record;
    if (!(await this.mayGoOn(record))) return record;
    try {
      const renewed = await this.parts.leases.renewal.renew(record, renewSeconds, () => []);
      await this.parts.identity.rejoinRenewed(renewed);
      return renewed.record;
    } catch (error) {
      // A token that cannot be renewed expires as planned.
      if (!isRefusal(error)) throw error;
      return record;
    }
  }

  /** Whether a token may be renewed: not if its entity is disabled or its namespace is locked. */
  private async mayGoOn({ entityId, namespaceId }: TokenRecord): Promise<boolean> {
    if (this.parts.namespaces.find(namespaceId)?.lockedBy !== undefined) return false;
    return entityId === undefined || (await this.parts.identity.find(entityId))?.disabled === false;
  }

  private idleEnd(now: number, expiresAtMs: number): number {
    return Math.min(now + this.parts.rules.idleSeconds * 1000, expiresAtMs);
  }

  private hashOf(id: string): Buffer<ArrayBuffer> {
    return this.parts.storage.barrier.mac('console-session', id);
  }
}

const cellOf = (hash: Buffer) => ({ table: 'console_session', row: hash.toString('hex'), column: 'sealed' });
