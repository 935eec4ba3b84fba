import type { StorageKernel } from './storage';

/** A live node of the installation. */
export interface LivingNode {
  /** Where it listens: host and port. */
  readonly address: string;
  readonly heardAtMs: number;
  /** True for this node. */
  readonly own: boolean;
}

const LIVING = {
  name: 'node-living',
  text: `SELECT id, address, floor(extract(epoch FROM seen_at) * 1000)::bigint AS heard_at_ms FROM node
          WHERE seen_at > clock_timestamp() - interval '3 seconds' ORDER BY address, id`,
};

/** All living nodes, including this node, by address. */
export async function livingNodes({ database, changes }: StorageKernel): Promise<LivingNode[]> {
  const { rows } = await database.query<{ id: string; address: string; heard_at_ms: string }>(LIVING);
  return rows.map(({ id, address, heard_at_ms }) => ({
    address,
    heardAtMs: Number(heard_at_ms),
    own: id === changes.id,
  }));
}
