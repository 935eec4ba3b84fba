import { randomBase62 } from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';
import { system } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import * as users from '../users/service';
import * as tokens from './service';

/** The output of the first start, printed once. */
export interface FirstRun {
  readonly username: string;
  readonly password: string;
  readonly token: string;
}

// An arbitrary number that no other lock of this database uses.
const FIRST_RUN_LOCK = 7_190_224;

/**
 * Creates the first site administrator with a password and a token if there are no accounts yet; otherwise returns
 * undefined. If several nodes start at the same time, only one creates it.
 */
export async function firstRun(
  db: Database,
  keyring: Keyring,
  options: { username?: string; email?: string; password?: string } = {},
): Promise<FirstRun | undefined> {
  return db.transaction(async (tx) => {
    await tx.prisma.$executeRaw`SELECT pg_advisory_xact_lock(${FIRST_RUN_LOCK})`;
    if ((await tx.prisma.user.count()) > 0) return undefined;
    const { username = 'admin', email = 'admin@localhost.localdomain', password = randomBase62(20) } = options;
    const account = await users.create(tx, { username, email, password, siteAdmin: true });
    const holder = { kind: 'user', userId: account.id } as const;
    const token = await tokens.create(
      tx,
      keyring,
      system,
      holder,
      { description: 'first start', expiredAt: null },
      Date.now(),
    );
    return { username, password, token: token.secret! };
  });
}
