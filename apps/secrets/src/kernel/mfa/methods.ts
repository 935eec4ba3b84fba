import { randomUUID } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import type { Prisma } from '../../generated/prisma/client';
import { isId, isTaken } from '../identity/checks';
import { numbered } from '../identity/pages';
import { lockRows } from '../storage/lock-rows';
import type { Notice, Tx } from '../storage/types';
import { checkMethod, type UncheckedConfig } from './method-config';
import type { MethodConfig, MfaMethod, MfaNeeds } from './types';

type MethodRow = Prisma.MfaMethodGetPayload<object>;

const cellOf = (row: string) => ({ table: 'mfa_method', row, column: 'sealed' });

/** The notice of any change, which may affect any login. */
export const mfaNotice: Notice = { topic: 'mfa', key: '*' };

/** TOTP methods, visible in the namespaces below their own. Spec: TOTP MFA method. */
export class Methods {
  constructor(private readonly needs: MfaNeeds) {}

  /** Creates a method, or changes the method of that name; returns its id. Throws `conflict` if the name is taken. */
  async write(namespaceId: string, name: string, config: UncheckedConfig): Promise<string> {
    const newId = randomUUID();
    const turn = `mfa-method/${name === '' ? newId : `${namespaceId}/${name.toLowerCase()}`}`;
    const run = async (tx: Tx): Promise<string> => {
      const existingId = name === '' ? undefined : await this.idOf(tx, namespaceId, name);
      if (existingId !== undefined && (await this.change(tx, namespaceId, existingId, undefined, config)))
        return existingId;
      const nowMs = this.needs.clock.now();
      const sealed = this.needs.barrier.sealJson(checkMethod(config), cellOf(newId));
      const row = { createdAtMs: nowMs, updatedAtMs: nowMs, sealed };
      const data = { id: newId, namespaceId, type: 'totp', name: name || null, ...row };
      await tx.prisma.mfaMethod.create({ data, select: { id: true } });
      return newId;
    };
    return this.naming(() => this.needs.committer.inTurn(turn, run, [mfaNotice]));
  }

  /**
   * Changes a method of exactly this namespace; omitted fields keep their values. Returns false if the method does not
   * exist.
   */
  async update(namespaceId: string, id: string, name: string | undefined, config: UncheckedConfig): Promise<boolean> {
    if (!isId(id)) return false;
    const run = (tx: Tx) => this.change(tx, namespaceId, id, name, config);
    return this.naming(() => this.needs.committer.inTurn(`mfa-method/${id}`, run, [mfaNotice]));
  }

  /** A method that is visible in a namespace. */
  async find(namespaceId: string, id: string): Promise<MfaMethod | undefined> {
    if (!isId(id)) return undefined;
    const row = await this.needs.database.prisma.mfaMethod.findFirst({
      where: { id, namespaceId: { in: [...this.needs.lineage(namespaceId)] } },
    });
    return row ? this.toMethod(row) : undefined;
  }

  /**
   * A method that is visible in a namespace, by id or name. If two methods have the same name, returns the method of
   * the nearer namespace.
   */
  async findMethod(namespaceId: string, idOrName: string): Promise<MfaMethod | undefined> {
    if (isId(idOrName)) return this.find(namespaceId, idOrName);
    const lineage = this.needs.lineage(namespaceId);
    const rows = await this.needs.database.prisma.$queryRaw<{ id: string }[]>`
      SELECT id FROM mfa_method WHERE lower(name) = lower(${idOrName}::text) AND namespace_id = ANY(${lineage}::uuid[])
       ORDER BY array_position(${lineage}::uuid[], namespace_id) LIMIT 1`;
    return rows[0] && this.find(namespaceId, rows[0].id);
  }

  /** Methods by id, wherever they are. */
  async findMany(ids: readonly string[]): Promise<Map<string, MfaMethod>> {
    const rows = await this.needs.database.prisma.mfaMethod.findMany({ where: { id: { in: [...ids] } } });
    return new Map(rows.map((row) => [row.id, this.toMethod(row)]));
  }

  /** All methods visible in a namespace, by id. */
  async list(namespaceId: string): Promise<MfaMethod[]> {
    const rows = await this.needs.database.prisma.mfaMethod.findMany({
      where: { namespaceId: { in: [...this.needs.lineage(namespaceId)] } },
      orderBy: { id: 'asc' },
    });
    return rows.map((row) => this.toMethod(row));
  }

  /**
   * Deletes a method and its secrets. An absent method is not an error. Returns false for a method that is visible here
   * but belongs to a parent namespace. Throws `conflict` while an enforcement uses it.
   */
  async delete(namespaceId: string, id: string): Promise<boolean> {
    if (!isId(id)) return true;
    const elsewhere = (await this.find(namespaceId, id))?.namespaceId ?? namespaceId;
    if (elsewhere !== namespaceId) return false;
    await this.needs.committer.transaction(
      async (tx) => {
        // Enforcements lock the methods they name, so none can start to use it in the meantime.
        const [lockedRow] = await lockRows(tx, 'mfa_method', numbered(namespaceId, id));
        if (lockedRow === undefined) return;
        const where = { methodIds: { has: lockedRow } };
        const using = await tx.prisma.mfaEnforcement.findFirst({ where, select: { id: true } });
        if (using) {
          throw new Refusal(
            'conflict',
            `1 error occurred:\n\t* methodID is still used by an enforcement configuration with ID: ${using.id}\n\n`,
          );
        }
        await tx.prisma.mfaMethod.deleteMany({ where: { id: lockedRow } });
      },
      [mfaNotice],
    );
    return true;
  }

  private async idOf(tx: Tx, namespaceId: string, name: string): Promise<string | undefined> {
    const rows = await tx.prisma.$queryRaw<{ id: string }[]>`
      SELECT id FROM mfa_method WHERE namespace_id = ${namespaceId}::uuid AND lower(name) = lower(${name}::text)`;
    return rows[0]?.id;
  }

  private async change(
    tx: Tx,
    namespaceId: string,
    id: string,
    name: string | undefined,
    config: UncheckedConfig,
  ): Promise<boolean> {
    const [lockedRow] = await lockRows(tx, 'mfa_method', numbered(namespaceId, id));
    if (lockedRow === undefined) return false;
    const row = await tx.prisma.mfaMethod.findUniqueOrThrow({ where: { id: lockedRow } });
    const before = this.needs.barrier.openJson<MethodConfig>(row.sealed, cellOf(lockedRow));
    await tx.prisma.mfaMethod.update({
      where: { id: lockedRow },
      data: {
        name: name === undefined ? row.name : name || null,
        updatedAtMs: this.needs.clock.now(),
        sealed: this.needs.barrier.sealJson(checkMethod({ ...before, ...config }), cellOf(lockedRow)),
      },
      select: { id: true },
    });
    return true;
  }

  private toMethod(row: MethodRow): MfaMethod {
    const config = this.needs.barrier.openJson<MethodConfig>(row.sealed, cellOf(row.id));
    return { ...config, id: row.id, namespaceId: row.namespaceId, name: row.name ?? '', type: 'totp' };
  }

  private async naming<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      if (isTaken(error)) throw new Refusal('conflict', 'method name is already in use', [], { cause: error });
      throw error;
    }
  }
}
