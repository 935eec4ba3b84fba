import { randomUUID } from 'node:crypto';
import type { Database } from '../storage/database';
import type { Barrier, Clock, Tx } from '../storage/types';

/** The last link of a chain; whoever keeps it elsewhere notices when the chain is cut behind it. */
export interface ChainHead {
  readonly chain: string;
  readonly sequence: number;
  /** Hex. */
  readonly digest: string;
}

/** What verifying found. */
export interface ChainReport {
  readonly rows: number;
  readonly heads: readonly ChainHead[];
  /** One sentence per broken link, and where nothing is recorded; empty when everything holds. */
  readonly problems: readonly string[];
}

interface Row {
  chain: string;
  sequence: string;
  at_ms: string;
  previous: Buffer;
  digest: Buffer;
  entries: string;
}

interface Parts {
  readonly database: Database;
  readonly barrier: Barrier;
  readonly clock: Clock;
  /** This node keeps its changes in the table. */
  readonly recording: boolean;
}

const beginning = Buffer.alloc(32);
/** A row has the lines of a whole batch. */
const pageSize = 100;

/**
 * Audit lines of changes in a table, one row per batch, written in the transaction that makes the changes. Every row
 * carries a keyed digest of itself and of the row before it, so that nothing can be changed, taken out or put in
 * between; a process start begins a chain of its own.
 */
export class AuditChain {
  /** The chain of this process. */
  readonly id = randomUUID();

  constructor(private readonly parts: Parts) {}

  /** Appends the lines of a batch. Held until the transaction ends, so that the chain has one end. */
  readonly append = async (tx: Tx, lines: readonly string[]): Promise<void> => {
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [this.id]);
    const { rows } = await tx.query<Pick<Row, 'sequence' | 'digest'>>(
      {
        name: 'audit-chain-end',
        text: 'SELECT sequence, digest FROM audit_record WHERE chain = $1 ORDER BY sequence DESC LIMIT 1',
      },
      [this.id],
    );
    const sequence = Number(rows[0]?.sequence ?? 0) + 1;
    const previous = rows[0]?.digest ?? beginning;
    const atMs = this.parts.clock.now();
    const entries = lines.join('\n');
    const digest = this.digest(this.id, sequence, atMs, previous, entries);
    await tx.query(
      {
        name: 'audit-chain-append',
        text: 'INSERT INTO audit_record (chain, sequence, at_ms, previous, digest, entries) VALUES ($1, $2, $3, $4, $5, $6)',
      },
      [this.id, sequence, atMs, previous, digest, entries],
    );
  };

  /** The end of every chain. */
  async heads(): Promise<ChainHead[]> {
    const { rows } = await this.parts.database.query<Pick<Row, 'chain' | 'sequence' | 'digest'>>(
      'SELECT DISTINCT ON (chain) chain, sequence, digest FROM audit_record ORDER BY chain, sequence DESC',
    );
    return rows.map(({ chain, sequence, digest }) => ({
      chain,
      sequence: Number(sequence),
      digest: digest.toString('hex'),
    }));
  }

  /** Goes through every row. `kept` are heads that were written down earlier: what lies before them must still be there. */
  async verify(kept: readonly ChainHead[] = []): Promise<ChainReport> {
    const problems: string[] = [];
    const wanted = new Map(kept.map((head) => [`${head.chain}/${head.sequence}`, head.digest]));
    const heads = new Map<string, ChainHead>();
    let rows = 0;
    for await (const row of this.all()) {
      rows += 1;
      const sequence = Number(row.sequence);
      const before = heads.get(row.chain);
      const name = `row ${sequence} of chain ${row.chain}`;
      if (sequence !== (before?.sequence ?? 0) + 1) problems.push(`${name} does not follow the one before it`);
      else if (row.previous.toString('hex') !== (before?.digest ?? beginning.toString('hex'))) {
        problems.push(`${name} does not point at the one before it`);
      }
      const digest = this.digest(row.chain, sequence, Number(row.at_ms), row.previous, row.entries);
      if (!digest.equals(row.digest)) problems.push(`${name} was changed`);
      heads.set(row.chain, { chain: row.chain, sequence, digest: row.digest.toString('hex') });
      const expected = wanted.get(`${row.chain}/${sequence}`);
      if (expected === undefined) continue;
      wanted.delete(`${row.chain}/${sequence}`);
      if (expected !== row.digest.toString('hex')) problems.push(`${name} is not the one that was kept`);
    }
    for (const missing of wanted.keys()) {
      const [chain, sequence] = missing.split('/');
      problems.push(`row ${sequence} of chain ${chain} was kept and is gone`);
    }
    // What is not there cannot be broken: that must not look like a table that is whole.
    if (!this.parts.recording) problems.push('this node records nothing: SECRETS_AUDIT_TABLE is off');
    else if (rows === 0) problems.push('nothing is recorded');
    return { rows, heads: [...heads.values()], problems };
  }

  private async *all(): AsyncGenerator<Row> {
    let chain = '00000000-0000-0000-0000-000000000000';
    let sequence = 0;
    for (;;) {
      const { rows } = await this.parts.database.query<Row>(
        'SELECT * FROM audit_record WHERE (chain, sequence) > ($1, $2) ORDER BY chain, sequence LIMIT $3',
        [chain, sequence, pageSize],
      );
      yield* rows;
      if (rows.length < pageSize) return;
      chain = rows.at(-1)!.chain;
      sequence = Number(rows.at(-1)!.sequence);
    }
  }

  private digest(chain: string, sequence: number, atMs: number, previous: Buffer, entries: string): Buffer {
    const head = `${chain}\n${sequence}\n${atMs}\n${previous.toString('hex')}\n`;
    return this.parts.barrier.mac('audit-chain', head + entries);
  }
}
