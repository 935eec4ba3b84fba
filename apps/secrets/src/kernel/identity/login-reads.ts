import { gather } from '@keystead/postgres';
import { aliasNameHash, type EntityAliasRow, toEntityAlias } from './rows';
import { KNOWN_LOGINS } from './statements';
import type { EntityAlias, IdentityNeeds } from './types';

/** The keys for looking up a login. `groupNames` is absent if the auth method has no groups. */
export interface LoginQuestion {
  readonly mountId: string;
  readonly aliasName: string;
  readonly groupNames?: readonly string[];
}

/** External groups of a mount that an entity must join, and must leave. */
export interface GroupMoves {
  readonly join: readonly string[];
  readonly leave: readonly string[];
}

/** The database's state for a login. */
export interface KnownLogin extends GroupMoves {
  readonly alias: EntityAlias;
}

interface LoginRow extends EntityAliasRow {
  n: number;
  join: string[];
  leave: string[];
}

/** Looks up logins. Logins that arrive together share a statement. */
export class LoginReads {
  private readonly row = gather<LoginQuestion, LoginRow>((questions) => this.rows(questions), { inFlight: 2 });

  constructor(private readonly needs: Pick<IdentityNeeds, 'database' | 'barrier'>) {}

  /**
   * The state for a login; undefined before the first login of its alias. A row that cannot be opened fails only its
   * own login.
   */
  async read(question: LoginQuestion): Promise<KnownLogin | undefined> {
    const row = await this.row(question);
    return row && { alias: toEntityAlias(this.needs.barrier, row), join: row.join, leave: row.leave };
  }

  private async rows(questions: readonly LoginQuestion[]): Promise<Map<LoginQuestion, LoginRow>> {
    const { rows } = await this.needs.database.query<LoginRow>(KNOWN_LOGINS, this.columns(questions));
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
