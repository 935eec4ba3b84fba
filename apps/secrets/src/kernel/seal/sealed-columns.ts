/** A table with a sealed column, and how a cell identifies its row. */
export interface SealedColumn {
  readonly table: string;
  readonly column: string;
  /** Primary key columns, in order, with their types. */
  readonly key: readonly (readonly [name: string, type: 'uuid' | 'text' | 'bytea'])[];
  /** The identifier of a row in its cell, from the key columns. */
  readonly row: (...key: never[]) => string;
}

const hex = (hash: Buffer): string => hash.toString('hex');
const same = (id: string): string => id;
const byId = (table: string, column = 'sealed'): SealedColumn => ({ table, column, key: [['id', 'uuid']], row: same });

/**
 * Every sealed column of the database: what a rotation reseals. Batch tokens are not stored and keep their original
 * key. A test compares this list with the schema.
 */
export const sealedColumns: readonly SealedColumn[] = [
  {
    table: 'entry',
    column: 'sealed',
    key: [
      ['mount_id', 'uuid'],
      ['path', 'text'],
    ],
    row: (mountId: string, path: string) => `${mountId}/${path}`,
  },
  { table: 'token', column: 'sealed', key: [['hash', 'bytea']], row: hex },
  { table: 'lease', column: 'sealed', key: [['hash', 'bytea']], row: hex },
  { table: 'lease', column: 'sealed_failure', key: [['hash', 'bytea']], row: hex },
  { table: 'console_session', column: 'sealed', key: [['hash', 'bytea']], row: hex },
  { table: 'mfa_pending', column: 'sealed', key: [['hash', 'bytea']], row: hex },
  {
    table: 'mfa_secret',
    column: 'sealed',
    key: [
      ['method_id', 'uuid'],
      ['entity_id', 'uuid'],
    ],
    row: (methodId: string, entityId: string) => `${methodId}/${entityId}`,
  },
  { table: 'attempt', column: 'sealed', key: [['key', 'bytea']], row: hex },
  { table: 'setting', column: 'sealed', key: [['name', 'text']], row: same },
  { table: 'rekey', column: 'sealed', key: [['kind', 'text']], row: same },
  byId('namespace'),
  byId('mount'),
  byId('policy'),
  byId('entity'),
  byId('entity_alias'),
  byId('group'),
  byId('group_alias'),
  byId('mfa_method'),
  byId('intent'),
  byId('job'),
];
