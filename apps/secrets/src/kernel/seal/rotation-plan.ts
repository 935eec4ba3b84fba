import { storeSetting } from '../storage/settings';
import type { StorageKernel } from '../storage/storage';
import type { Tx } from '../storage/types';

/** When the key is rotated automatically. */
export interface RotationRules {
  readonly enabled: boolean;
  /** The maximum age of a key; 0 for no bound. */
  readonly intervalSeconds: number;
  /** The maximum number of values that are sealed under one key, on all nodes together. */
  readonly maxOperations: number;
}

/** How many values may be sealed with random nonces before it becomes likely that two share a nonce. */
export const mostOperations = 3_865_470_566;
export const leastOperations = 1_000_000;
export const leastIntervalSeconds = 24 * 3600;
const usualRules: RotationRules = { enabled: true, intervalSeconds: 0, maxOperations: mostOperations };

const rulesName = 'key-rotation';
const useName = 'key-use';

interface Use {
  readonly term: number;
  readonly count: number;
}

/** The rules of automatic rotation, and the use of the current key. */
export class RotationPlan {
  /** The use of the key that this node has already reported. */
  private reported: Use = { term: 0, count: 0 };

  constructor(private readonly storage: StorageKernel) {}

  async rules(): Promise<RotationRules> {
    return (await read(this.storage.database)).rules;
  }

  /** Changes the rules, one change at a time. */
  async change(change: (before: RotationRules) => RotationRules): Promise<void> {
    await this.storage.committer.inTurn(`setting/${rulesName}`, async (tx) => {
      const { rules } = await read(tx);
      await storeSetting(tx.prisma, rulesName, change(rules));
    });
  }

  /** Reports what this node has sealed since the last report, and returns whether the key must be rotated. */
  async isDue(installedAtMs: number): Promise<boolean> {
    const { barrier, clock } = this.storage;
    await this.tell();
    const { rules, use } = await read(this.storage.database);
    if (!rules.enabled) return false;
    const { intervalSeconds, maxOperations } = rules;
    if (intervalSeconds > 0 && clock.now() - installedAtMs >= intervalSeconds * 1000) return true;
    return use.term === barrier.keys.version && use.count >= maxOperations;
  }

  private async tell(): Promise<void> {
    const { database, barrier } = this.storage;
    const now: Use = { term: barrier.keys.version, count: barrier.sealedCount };
    // If the count is lower than reported, it has restarted at zero because other keys were read.
    const before = this.reported.term === now.term && this.reported.count <= now.count ? this.reported.count : 0;
    if (now.count > before) await tell(database, { term: now.term, count: now.count - before });
    this.reported = now;
  }
}

async function read({ prisma }: Pick<Tx, 'prisma'>): Promise<{ rules: RotationRules; use: Use }> {
  const rows = await prisma.setting.findMany({ where: { name: { in: [rulesName, useName] } } });
  const of = (name: string): unknown => rows.find((row) => row.name === name)?.value;
  return {
    rules: (of(rulesName) as RotationRules | undefined) ?? usualRules,
    use: (of(useName) as Use | undefined) ?? { term: 0, count: 0 },
  };
}

/**
 * Adds the use of this node to the use that other nodes have reported for the same key. Late reports about older keys
 * are ignored.
 */
async function tell({ prisma }: Pick<Tx, 'prisma'>, { term, count }: Use): Promise<void> {
  await prisma.$executeRaw`
    INSERT INTO setting AS s (name, value)
    VALUES (${useName}, jsonb_build_object('term', ${term}::int, 'count', ${count}::bigint))
    ON CONFLICT (name) DO UPDATE SET value = jsonb_build_object('term', ${term}::int, 'count',
      ${count}::bigint + CASE WHEN (s.value->>'term')::int = ${term}::int THEN (s.value->>'count')::bigint ELSE 0 END)
    WHERE (s.value->>'term')::int <= ${term}::int`;
}
