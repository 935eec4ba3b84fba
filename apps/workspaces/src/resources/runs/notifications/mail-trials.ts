import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import type { Database } from '../../../kernel/database/database';

/** The burst of test mails, and the rate after that. */
interface Budget {
  readonly atOnce: number;
  readonly everySeconds: number;
}

const ofAddress: Budget = { atOnce: 5, everySeconds: 720 };
const ofConfiguration: Budget = { atOnce: 2, everySeconds: 60 };

/** A test mail that will be sent. */
interface Trial {
  readonly addresses: readonly string[];
  /** The configuration that is verified; undefined if it is only being created or changed. */
  readonly verified: string | undefined;
}

/**
 * Counts test mail against the limit of each address, across all configurations, and against the limit of the
 * configuration, on all nodes together. Throws `limited`, and counts nothing, if one limit is reached.
 */
export async function takeTrial(db: Database, keyring: Keyring, { addresses, verified }: Trial): Promise<void> {
  const key = (text: string) => new Uint8Array(keyring.mac('mail-trial', text));
  const budgets = [
    ...addresses.map((address) => ({ key: key(`address ${address.toLowerCase()}`), budget: ofAddress })),
    ...(verified === undefined ? [] : [{ key: key(`configuration ${verified}`), budget: ofConfiguration }]),
    // The counts are always changed in the same order, so that simultaneous requests do not deadlock.
  ].sort((a, b) => Buffer.compare(a.key, b.key));
  await db.transaction(async (tx) => {
    for (const one of budgets) await take(tx, one.key, one.budget);
  });
}

async function take(tx: Database, key: Uint8Array<ArrayBuffer>, { atOnce, everySeconds }: Budget): Promise<void> {
  const inserted = await tx.prisma.$executeRaw`
    INSERT INTO mail_trial AS m (key, paid_until) VALUES (${key}, now() + make_interval(secs => ${everySeconds}))
    ON CONFLICT (key) DO UPDATE SET paid_until = greatest(m.paid_until, now()) + make_interval(secs => ${everySeconds})
     WHERE m.paid_until <= now() + make_interval(secs => ${everySeconds * (atOnce - 1)})`;
  if (inserted > 0) return;
  const [row] = await tx.prisma.$queryRaw<{ seconds: number }[]>`
    SELECT ceil(extract(epoch FROM paid_until - now()))::int - ${everySeconds * (atOnce - 1)}::int AS seconds
      FROM mail_trial WHERE key = ${key}`;
  const seconds = Math.max(1, row?.seconds ?? 1);
  throw new Refusal(
    'limited',
    `too many test emails were sent by this configuration or to one of its addresses; try again in ${seconds} seconds`,
  );
}

/** Deletes counts that no longer matter. */
export const forgetTrials = ({ prisma }: Database) =>
  prisma.$executeRaw`DELETE FROM mail_trial WHERE paid_until < now()`;
