import { randomUUID } from 'node:crypto';
import type { Database } from '../storage/database';
import type { Barrier, Clock, Tx } from '../storage/types';
import { type ChainPage, type ChainQuery, searchChain } from './chain-search';

/** The last link of a chain. A copy that is stored elsewhere shows whether the chain was truncated. */
export interface ChainHead {
  readonly chain: string;
  readonly sequence: number;
  /** Hex. */
  readonly digest: string;
}

/** The result of verifying. */
export interface ChainReport {
  readonly rows: number;
  readonly heads: readonly ChainHead[];
  /** One message per broken link, and one if no lines are recorded; empty if the chain is intact. */
  readonly problems: readonly string[];
  /** The position at which to continue; undefined when everything is verified. */
  readonly next: ChainHead | undefined;
}

interface ChainRow {
  chain: string;
  sequence: string;
  at_ms: string;
  previous: Buffer;
  digest: Buffer;
  entries: string;
}

interface AuditChainDeps {
  readonly database: Database;
  readonly barrier: Barrier;
  readonly clock: Clock;
  /** This node records its changes in the table. */
  readonly recording: boolean;
  /** How long one verification may take; 10 s. */
  readonly verifyMs?: number;
}

const beginning = Buffer.alloc(32);
/** A row contains the lines of a whole batch. */
const pageSize = 100;

/**
 * Audit lines of changes in a table, one row per batch, written in the transaction that makes the changes. Every row
 * has a keyed digest of itself and the previous row, which reveals changed, removed and inserted rows. Each process
 * start begins a new chain.
 */
export class AuditChain {
  /** The chain of this process. */
  readonly id = randomUUID();

  constructor(private readonly parts: AuditChainDeps) {}

  /**
   * Appends the lines of a batch. The end of the chain is locked until the transaction ends, so that the chain does not
   * fork.
   */
  readonly append = async (tx: Tx, lines: readonly string[]): Promise<void> => {
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [this.id]);
    const { rows } = await tx.query<Pick<ChainRow, 'sequence' | 'digest'>>(
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
    const { rows } = await this.parts.database.query<Pick<ChainRow, 'chain' | 'sequence' | 'digest'>>(
      'SELECT DISTINCT ON (chain) chain, sequence, digest FROM audit_record ORDER BY chain, sequence DESC',
    );
    return rows.map(({ chain, sequence, digest }) => ({
      chain,
      sequence: Number(sequence),
      digest: digest.toString('hex'),
    }));
  }

  /** Lines of the table, newest first. */
  search(query: ChainQuery): Promise<ChainPage> {
    return searchChain(this.parts.database, query);
  }

  /**
   * Verifies the rows after `after`, for a limited time, because a table of several years is verified in parts.
   * `storedHeads` were saved earlier; their rows must still exist. `heads` are the ends of this part.
   */
  async verify(storedHeads: readonly ChainHead[] = [], after?: ChainHead): Promise<ChainReport> {
    const { recording, verifyMs = 10_000 } = this.parts;
    const untilMs = performance.now() + verifyMs;
    const problems: string[] = [];
    const wantedDigests = new Map(
      storedHeads.filter((head) => !after || comesAfter(head, after)).map((head) => [nameOf(head), head]),
    );
    const heads = new Map<string, ChainHead>(after && [[after.chain, after]]);
    if (after && !(await this.matches(after)))
      problems.push(`${nameOf(after)} is not the row at which the last verification stopped`);
    let rows = 0;
    let last = after;
    let more = true;
    while (more) {
      const page = await this.pageAfter(last);
      for (const row of page) {
        last = this.check(row, heads.get(row.chain), problems);
        heads.set(row.chain, last);
        const expected = wantedDigests.get(nameOf(last));
        if (expected === undefined) continue;
        wantedDigests.delete(nameOf(last));
        if (expected.digest !== last.digest) problems.push(`${nameOf(last)} is not the row of the stored head`);
      }
      rows += page.length;
      more = page.length === pageSize;
      if (more && performance.now() >= untilMs) break;
    }
    for (const [name, head] of wantedDigests) {
      if (!more || !comesAfter(head, last!)) problems.push(`${name} is missing, although its head was stored`);
    }
    // An empty table cannot be broken, but must not look like an intact one.
    if (!recording) problems.push('this node records nothing: SECRETS_AUDIT_TABLE is off');
    else if (rows === 0 && !after) problems.push('nothing is recorded');
    return { rows, heads: [...heads.values()], problems, next: more ? last : undefined };
  }

  /** Adds the problems of a row, and returns its head. */
  private check(row: ChainRow, before: ChainHead | undefined, problems: string[]): ChainHead {
    const head = { chain: row.chain, sequence: Number(row.sequence), digest: row.digest.toString('hex') };
    if (head.sequence !== (before?.sequence ?? 0) + 1)
      problems.push(`${nameOf(head)} does not follow the previous row`);
    else if (row.previous.toString('hex') !== (before?.digest ?? beginning.toString('hex'))) {
      problems.push(`${nameOf(head)} does not contain the digest of the previous row`);
    }
    const digest = this.digest(row.chain, head.sequence, Number(row.at_ms), row.previous, row.entries);
    if (!digest.equals(row.digest)) problems.push(`${nameOf(head)} was changed`);
    return head;
  }

  /** Whether the row of this head still exists unchanged. The previous part of the verification ended with this row. */
  private async matches({ chain, sequence, digest }: ChainHead): Promise<boolean> {
    const { rows } = await this.parts.database.query<Pick<ChainRow, 'digest'>>(
      'SELECT digest FROM audit_record WHERE chain = $1 AND sequence = $2',
      [chain, sequence],
    );
    return rows[0]?.digest.toString('hex') === digest;
  }

  private async pageAfter(last: ChainHead | undefined): Promise<readonly ChainRow[]> {
    const { rows } = await this.parts.database.query<ChainRow>(
      'SELECT * FROM audit_record WHERE (chain, sequence) > ($1, $2) ORDER BY chain, sequence LIMIT $3',
      [last?.chain ?? '00000000-0000-0000-0000-000000000000', last?.sequence ?? 0, pageSize],
    );
    return rows;
  }

  private digest(chain: string, sequence: number, atMs: number, previous: Buffer, entries: string): Buffer {
    const head = `${chain}\n${sequence}\n${atMs}\n${previous.toString('hex')}\n`;
    return this.parts.barrier.mac('audit-chain', head + entries);
  }
}

const nameOf = ({ chain, sequence }: ChainHead): string => `row ${sequence} of chain ${chain}`;

/** Whether a head comes after another in the order of the table. */
function comesAfter(head: ChainHead, other: ChainHead): boolean {
  return head.chain === other.chain ? head.sequence > other.sequence : head.chain > other.chain;
}
