import type { CopyRows } from './copy-rows';
import { emptySet, type Kernel, type TokenRecord } from './kernel';

/** The tables that can be seeded. */
export type What = 'token' | 'lease' | 'entry';

/** The owner and place of generated rows. */
export interface SeedDeps {
  readonly kernel: Kernel;
  readonly owner: TokenRecord;
  /** How many leases live for one second. */
  readonly due: number;
}

/** How to generate the rows of a table: its columns, and the row of a number. */
interface Seeded {
  readonly columns: readonly string[];
  row(rows: CopyRows, n: number, deps: SeedDeps): void | Promise<void>;
}

const DAY_SECONDS = 86_400;
const words = (text: string) => text.split(' ');

/**
 * Generates tokens, leases and entries with the same code that serves requests, except for the insertion of the row.
 */
export const seeded: Readonly<Record<What, Seeded>> = {
  token: {
    columns: words('hash accessor_hash namespace_id path created_at_ms expires_at_ms due_at_ms sealed'),
    row(rows, n, { kernel }) {
      const set = emptySet();
      kernel.tokens.mint(tokenSpec(kernel, 10 * DAY_SECONDS + (n % DAY_SECONDS), ['default']), set);
      const row = set.tokens[0]!;
      const ends = row.expiresAtMs ?? null;
      rows.begin(8).bytes(row.hash).bytes(row.accessorHash).uuid(row.namespaceId).text(`${row.path}/`);
      rows.bigint(row.createdAtMs).bigint(ends).bigint(ends).bytes(row.sealed);
    },
  },
  lease: {
    columns: words('hash namespace_id mount_id path role token_hash issued_at_ms expires_at_ms due_at_ms sealed'),
    async row(rows, n, { kernel, owner, due }) {
      const set = emptySet();
      const namespace = kernel.namespaces.root;
      const mount = kernel.mounts.at(namespace.uuid, 'scheduler/');
      if (!mount) throw new Error('mount a scheduler engine at scheduler/ first');
      const secret = {
        kind: 'secret' as const,
        type: 'token',
        data: {},
        internal: { accessor_id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}` },
        ttlSeconds: n < due ? 1 : 10 * DAY_SECONDS + (n % DAY_SECONDS),
      };
      await kernel.leases.register({ namespace, mount, path: `scheduler/creds/role-${n % 100}` }, owner, secret, set);
      const row = set.leases[0]!;
      rows.begin(10).bytes(row.hash).uuid(row.namespaceId).uuid(row.mountId).text(`${row.path}/`).text(row.role);
      rows
        .bytes(row.tokenHash ?? null)
        .bigint(row.issuedAtMs)
        .bigint(row.expiresAtMs)
        .bigint(row.expiresAtMs);
      rows.bytes(row.sealed);
    },
  },
  entry: {
    columns: words('mount_id path sealed'),
    row(rows, n, { kernel, owner }) {
      const mountId = kernel.mounts.at(kernel.namespaces.root.uuid, 'cubbyhole/')!.uuid;
      const path = `${owner.key}/list/key-${FIRST_KEY + n}`;
      const at = { table: 'entry', row: `${mountId}/${path}`, column: 'sealed' };
      rows.begin(3).uuid(mountId).text(path).bytes(kernel.barrier.seal(VALUE, at));
    },
  },
};

const VALUE = Buffer.from('{"seeded":"yes"}');
/** The first key. All keys have the same number of digits, so that their order as text is their numeric order. */
const FIRST_KEY = 1_000_000_000;

/** A token as `auth/token/create` would make it. */
export function tokenSpec(
  kernel: Kernel,
  ttlSeconds: number,
  policies: string[],
): Parameters<Kernel['tokens']['mint']>[0] {
  return {
    type: 'service',
    namespaceId: kernel.namespaces.root.uuid,
    namespaceShortId: '',
    path: 'auth/token/create',
    displayName: 'token-seed',
    policies,
    ttlSeconds,
    renewable: true,
  };
}
