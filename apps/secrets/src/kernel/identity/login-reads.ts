import { gather } from '@keystead/postgres';
import type { Statement } from '../storage/database';
import { aliasNameHash, type EntityAliasRow, toEntityAlias } from './rows';
import type { EntityAlias, IdentityNeeds } from './types';

/** Whom a login is looked up for; `groupNames` is absent where the auth method knows nothing of groups. */
export interface LoginQuestion {
  readonly mountId: string;
  readonly aliasName: string;
  readonly groupNames?: readonly string[];
}

/** External groups of a mount that an entity is still to be put into, and to be taken out of. */
export interface GroupMoves {
  readonly join: readonly string[];
  readonly leave: readonly string[];
}

/** What stands in the database about a login. */
export interface KnownLogin extends GroupMoves {
  readonly alias: EntityAlias;
}

interface Row extends EntityAliasRow {
  n: number;
  join: string[];
  leave: string[];
}

/** $1 numbers of the questions, $2 mounts, $3 hashes of alias names, $4 whether groups count, $5 and $6 hashes of group names by number. */
const KNOWN: Statement = {
  name: 'identity-logins',
  text: `WITH asked AS (
    SELECT * FROM unnest($1::int[], $2::uuid[], $3::bytea[], $4::boolean[]) AS q(n, mount_id, name_hash, grouped)
  ), named AS (
    SELECT * FROM unnest($5::int[], $6::bytea[]) AS g(n, name_hash)
  )
  SELECT q.n, a.id, a.namespace_id, a.entity_id, a.mount_id, a.mount_accessor, a.created_at_ms, a.updated_at_ms, a.sealed,
    ARRAY(SELECT g.group_id FROM named JOIN group_alias g ON g.mount_id = a.mount_id AND g.name_hash = named.name_hash
           WHERE named.n = q.n AND NOT EXISTS (
             SELECT 1 FROM group_member m WHERE m.group_id = g.group_id AND m.entity_id = a.entity_id)) AS join,
    ARRAY(SELECT g.group_id FROM group_member m JOIN group_alias g ON g.group_id = m.group_id
           WHERE q.grouped AND m.entity_id = a.entity_id AND g.mount_id = a.mount_id AND NOT EXISTS (
             SELECT 1 FROM named WHERE named.n = q.n AND named.name_hash = g.name_hash)) AS leave
    FROM asked q JOIN entity_alias a ON a.mount_id = q.mount_id AND a.name_hash = q.name_hash`,
};

/** Looks up who logs in. Logins that arrive together share a statement. */
export class LoginReads {
  private readonly row = gather<LoginQuestion, Row>((questions) => this.rows(questions), { inFlight: 2 });

  constructor(private readonly needs: Pick<IdentityNeeds, 'database' | 'barrier'>) {}

  /** Undefined before the first login. A row that cannot be opened is the failure of its own login alone. */
  async read(question: LoginQuestion): Promise<KnownLogin | undefined> {
    const row = await this.row(question);
    return row && { alias: toEntityAlias(this.needs.barrier, row), join: row.join, leave: row.leave };
  }

  private async rows(questions: readonly LoginQuestion[]): Promise<Map<LoginQuestion, Row>> {
    const { rows } = await this.needs.database.query<Row>(KNOWN, this.columns(questions));
    return new Map(rows.map((row) => [questions[row.n]!, row]));
  }

  private columns(questions: readonly LoginQuestion[]): unknown[] {
    const { barrier } = this.needs;
    const groups = questions.flatMap(({ mountId, groupNames = [] }, n) =>
      groupNames.map((name) => ({ n, hash: aliasNameHash(barrier, 'group', mountId, name) })),
    );
    return [
      questions.map((_, n) => n),
      questions.map(({ mountId }) => mountId),
      questions.map(({ mountId, aliasName }) => aliasNameHash(barrier, 'entity', mountId, aliasName)),
      questions.map(({ groupNames }) => groupNames !== undefined),
      groups.map(({ n }) => n),
      groups.map(({ hash }) => hash),
    ];
  }
}
