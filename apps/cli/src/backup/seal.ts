import { createHash } from 'node:crypto';
import { type Cell, Keyring, readSealKeys, WrongSealKey } from '@keystead/keyring';
import { Problem } from '../problem';
import type { Batch, Header } from './archive';

const SAMPLES = 20;
const FINGERPRINT_DIGITS = 16;

/** Tables of each service whose values can be opened one by one, and the row that each value is bound to. */
const samples: Record<Header['service'], Record<string, { column: string; row: (field: Field) => string }>> = {
  secrets: { entry: { column: 'sealed', row: (field) => `${field('mount_id')}/${field('path')}` } },
  workspaces: {
    ssh_key: { column: 'value', row: (field) => field('id') },
    variable: { column: 'sealed', row: (field) => field('id') },
    state_output: { column: 'value', row: (field) => field('id') },
  },
};

type Field = (column: string) => string;

/** Identifies a seal key without revealing it. */
export function fingerprintOf(sealKey: Uint8Array): string {
  return createHash('sha256').update('keystead seal key\0').update(sealKey).digest('hex').slice(0, FINGERPRINT_DIGITS);
}

/** The seal key that the environment of a service names, or the given file. */
export function findSealKey(prefix: string, file: string | undefined, env: NodeJS.ProcessEnv): Buffer | undefined {
  const source = { value: file ? undefined : env[`${prefix}_SEAL_KEY`], file: file ?? env[`${prefix}_SEAL_KEY_FILE`] };
  if (!source.value && !source.file) return undefined;
  try {
    return readSealKeys(source).current;
  } catch (error) {
    throw new Problem((error as Error).message);
  }
}

/** Opens a backup's keyring with a seal key. While the backup is read, it opens some of its values with the keyring. */
export class SealCheck {
  private keyring: Keyring | undefined;
  private readonly waiting: { cell: Cell; sealed: Buffer }[] = [];
  private attempts = 0;

  constructor(
    private readonly header: Header,
    private readonly sealKey: Uint8Array,
  ) {}

  see(batch: Batch): void {
    if (!this.keyring) this.keyring = this.unwrap(batch);
    const sample = samples[this.header.service][batch.table];
    if (!sample) return;
    for (const row of batch.rows) {
      if (this.waiting.length + this.attempts >= SAMPLES) break;
      const fields = fieldsOf(row, this.columnsOf(batch.table));
      const sealed = bytesOf(fields.get(sample.column));
      const cell = { table: batch.table, row: sample.row((name) => fields.get(name) ?? ''), column: sample.column };
      if (sealed) this.waiting.push({ cell, sealed });
    }
    this.openWaiting();
  }

  /** How many values were opened. Throws `Problem` if there is no keyring. */
  finish(): number {
    if (!this.keyring) throw new Problem('the backup holds no keyring: was the service initialised?');
    this.openWaiting();
    return this.attempts;
  }

  private openWaiting(): void {
    if (!this.keyring) return;
    for (const { cell, sealed } of this.waiting.splice(0)) {
      try {
        this.keyring.open(sealed, cell);
      } catch {
        throw new Problem(`a value of table ${cell.table} cannot be decrypted: the backup is damaged`);
      }
      this.attempts += 1;
    }
  }

  private unwrap(batch: Batch): Keyring | undefined {
    const wrapped = this.wrappedIn(batch);
    if (!wrapped) return undefined;
    try {
      return Keyring.unwrap(wrapped, [this.sealKey]);
    } catch (error) {
      if (this.header.sealKey !== undefined)
        throw new Problem('the keyring cannot be decrypted: the backup is damaged');
      if (error instanceof WrongSealKey) throw new Problem('this seal key does not decrypt the backup', 2);
      throw error;
    }
  }

  private wrappedIn({ table, rows }: Batch): Buffer | undefined {
    if (this.header.service === 'secrets') {
      return table === 'seal' && rows[0] ? bytesOf(fieldsOf(rows[0], this.columnsOf(table)).get('keyring')) : undefined;
    }
    if (table !== 'setting') return undefined;
    const settings = rows.map((row) => fieldsOf(row, this.columnsOf(table)));
    const value = settings.find((setting) => setting.get('name') === 'keyring')?.get('value');
    return value ? Buffer.from((JSON.parse(value) as { wrapped: string }).wrapped, 'base64') : undefined;
  }

  private columnsOf(table: string): readonly string[] {
    return this.header.tables.find(({ name }) => name === table)?.columns ?? [];
  }
}

/** Fields of a row in PostgreSQL's text format: quoted where necessary, empty for null. */
export function fieldsOf(row: string, columns: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>();
  let at = 1;
  for (const column of columns) {
    let text = '';
    let inQuotes = false;
    while (at < row.length - 1 && row[at] !== ',') {
      inQuotes = true;
      if (row[at] !== '"') {
        text += row[at] === '\\' ? row[++at] : row[at];
        at += 1;
        continue;
      }
      for (at += 1; row[at] !== '"' || row[at + 1] === '"'; at += 1) {
        if (row[at] === '"' || row[at] === '\\') at += 1;
        text += row[at];
      }
      at += 1;
    }
    at += 1;
    if (inQuotes) fields.set(column, text);
  }
  return fields;
}

function bytesOf(text: string | undefined): Buffer | undefined {
  return text?.startsWith('\\x') ? Buffer.from(text.slice(2), 'hex') : undefined;
}
