import { randomUUID } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { isId, isTaken } from '../identity/checks';
import type { Notice, Tx } from '../storage/types';
import { checkMethod, type UncheckedConfig } from './method-config';
import type { Method, MethodConfig, MfaNeeds } from './types';

interface Row {
  id: string;
  namespace_id: string;
  name: string | null;
  sealed: Buffer;
}

const cellOf = (row: string) => ({ table: 'mfa_method', row, column: 'sealed' });

/** Whatever changed, it may matter to any login. */
export const mfaNotice: Notice = { topic: 'mfa', key: '*' };

/** TOTP methods. They are seen from the namespaces below their own. Spec: TOTP MFA method. */
export class Methods {
  constructor(private readonly needs: MfaNeeds) {}

  /** Creates a method, or changes the one of that name; returns its id. Throws `conflict` for a name taken meanwhile. */
  async write(namespaceId: string, name: string, given: UncheckedConfig): Promise<string> {
    const made = randomUUID();
    const turn = `mfa-method/${name === '' ? made : `${namespaceId}/${name.toLowerCase()}`}`;
    const run = async (tx: Tx): Promise<string> => {
      const known = name === '' ? undefined : await this.idOf(tx, namespaceId, name);
      if (known !== undefined && (await this.change(tx, namespaceId, known, undefined, given))) return known;
      const nowMs = this.needs.clock.now();
      await tx.query(
        `INSERT INTO mfa_method (id, namespace_id, type, name, created_at_ms, updated_at_ms, sealed)
         VALUES ($1, $2, 'totp', $3, $4, $4, $5)`,
        [made, namespaceId, name || null, nowMs, this.needs.barrier.sealJson(checkMethod(given), cellOf(made))],
      );
      return made;
    };
    return this.naming(() => this.needs.committer.inTurn(turn, run, [mfaNotice]));
  }

  /** Changes a method of this very namespace; fields left out keep their value. False when there is none. */
  async update(namespaceId: string, id: string, name: string | undefined, given: UncheckedConfig): Promise<boolean> {
    if (!isId(id)) return false;
    const run = (tx: Tx) => this.change(tx, namespaceId, id, name, given);
    return this.naming(() => this.needs.committer.inTurn(`mfa-method/${id}`, run, [mfaNotice]));
  }

  /** A method that a namespace sees. */
  async find(namespaceId: string, id: string): Promise<Method | undefined> {
    if (!isId(id)) return undefined;
    const { rows } = await this.needs.database.query<Row>(
      { name: 'mfa-method', text: 'SELECT * FROM mfa_method WHERE id = $1 AND namespace_id = ANY($2)' },
      [id, this.needs.lineage(namespaceId)],
    );
    return rows[0] && this.toMethod(rows[0]);
  }

  /** A method that a namespace sees, by id or name; of two with that name, the one of the nearer namespace. */
  async named(namespaceId: string, idOrName: string): Promise<Method | undefined> {
    if (isId(idOrName)) return this.find(namespaceId, idOrName);
    const { rows } = await this.needs.database.query<Row>(
      {
        name: 'mfa-method-named',
        text: `SELECT * FROM mfa_method WHERE lower(name) = lower($1) AND namespace_id = ANY($2::uuid[])
               ORDER BY array_position($2::uuid[], namespace_id) LIMIT 1`,
      },
      [idOrName, this.needs.lineage(namespaceId)],
    );
    return rows[0] && this.toMethod(rows[0]);
  }

  /** Methods by id, wherever they are. */
  async findMany(ids: readonly string[]): Promise<Map<string, Method>> {
    const { rows } = await this.needs.database.query<Row>(
      { name: 'mfa-methods', text: 'SELECT * FROM mfa_method WHERE id = ANY($1)' },
      [ids],
    );
    return new Map(rows.map((row) => [row.id, this.toMethod(row)]));
  }

  /** All methods that a namespace sees, by id. */
  async list(namespaceId: string): Promise<Method[]> {
    const { rows } = await this.needs.database.query<Row>(
      'SELECT * FROM mfa_method WHERE namespace_id = ANY($1) ORDER BY id::text COLLATE "C"',
      [this.needs.lineage(namespaceId)],
    );
    return rows.map((row) => this.toMethod(row));
  }

  /**
   * Deletes a method with its secrets; an absent one is no error. False for one that is only seen from here, because it is
   * of a namespace above. Throws `conflict` while an enforcement uses it.
   */
  async delete(namespaceId: string, id: string): Promise<boolean> {
    if (!isId(id)) return true;
    const elsewhere = (await this.find(namespaceId, id))?.namespaceId ?? namespaceId;
    if (elsewhere !== namespaceId) return false;
    await this.needs.committer.transaction(
      async (tx) => {
        // Enforcements lock the methods they name, so none can come to use it meanwhile.
        const own = await tx.query('SELECT 1 FROM mfa_method WHERE id = $1 AND namespace_id = $2 FOR UPDATE', [
          id,
          namespaceId,
        ]);
        if (own.rowCount === 0) return;
        const { rows } = await tx.query<{ id: string }>(
          'SELECT id FROM mfa_enforcement WHERE $1 = ANY(method_ids) LIMIT 1',
          [id],
        );
        if (rows[0]) {
          throw new Refusal(
            'conflict',
            `1 error occurred:\n\t* methodID is still used by an enforcement configuration with ID: ${rows[0].id}\n\n`,
          );
        }
        await tx.query('DELETE FROM mfa_method WHERE id = $1 AND namespace_id = $2', [id, namespaceId]);
      },
      [mfaNotice],
    );
    return true;
  }

  private async idOf(tx: Tx, namespaceId: string, name: string): Promise<string | undefined> {
    const { rows } = await tx.query<{ id: string }>(
      'SELECT id FROM mfa_method WHERE namespace_id = $1 AND lower(name) = lower($2)',
      [namespaceId, name],
    );
    return rows[0]?.id;
  }

  private async change(
    tx: Tx,
    namespaceId: string,
    id: string,
    name: string | undefined,
    given: UncheckedConfig,
  ): Promise<boolean> {
    const { rows } = await tx.query<Row>('SELECT * FROM mfa_method WHERE id = $1 AND namespace_id = $2 FOR UPDATE', [
      id,
      namespaceId,
    ]);
    if (!rows[0]) return false;
    const before = this.needs.barrier.openJson<MethodConfig>(rows[0].sealed, cellOf(id));
    await tx.query('UPDATE mfa_method SET name = $2, updated_at_ms = $3, sealed = $4 WHERE id = $1', [
      id,
      name === undefined ? rows[0].name : name || null,
      this.needs.clock.now(),
      this.needs.barrier.sealJson(checkMethod({ ...before, ...given }), cellOf(id)),
    ]);
    return true;
  }

  private toMethod(row: Row): Method {
    const config = this.needs.barrier.openJson<MethodConfig>(row.sealed, cellOf(row.id));
    return { ...config, id: row.id, namespaceId: row.namespace_id, name: row.name ?? '', type: 'totp' };
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
