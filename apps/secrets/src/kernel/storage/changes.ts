import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { DATABASE_TIME, type DatabaseClock, type Silence } from '@keystead/postgres';
import type pg from 'pg';
import type { Database } from './database';
import { Listeners, SEAL_COLUMNS, type SealRow } from './listeners';
import {
  beatPayload,
  CHANNEL,
  MAX_PAYLOAD_BYTES,
  type Message,
  noticeLines,
  noticesPayload,
  parseNoticeLines,
  parsePayload,
  seePayload,
} from './notice-text';
import type { ChangeNotices, Notice, Tx } from './types';

export interface ChangesOptions {
  readonly database: Database;
  /** Opens the connection for notices and heartbeats. Nothing else uses it, and its queries have timeouts. */
  readonly connect: () => pg.Client;
  readonly address: string;
  /** Whether to poll instead of LISTEN, as is necessary behind transaction poolers. */
  readonly poll?: boolean;
  readonly beatMs?: number;
  /** The clock that is compared with the time of the database at every heartbeat. */
  readonly time?: DatabaseClock;
  /** Notified of every answered heartbeat. */
  readonly silence?: Silence;
  readonly log?: { warn(fields: object, message: string): void };
}

interface BeatRow extends SealRow {
  others: number;
  polling: number;
  lagging: number;
  at: number;
}

/** A node without a heartbeat for this long is considered dead. */
const GONE_MS = 3000;
/**
 * An older heartbeat no longer proves that notices arrive. The age is measured from the start of the heartbeat, because
 * notices that were sent before a heartbeat arrive before it.
 */
const STALE_MS = 900;
/** After a shorter silence, other nodes cannot consider this node dead. */
const FORGOTTEN_MS = GONE_MS / 2;
/** How long a new node waits until all others must have noticed it. */
const JOIN_MS = 1000;
const UNHEARD_BEATS_BEFORE_POLLING = 6;
const TIDY_BEATS = 32;
const LISTEN_AGAIN_BEATS = 1000;

const BEAT = {
  name: 'node-beat',
  text: `WITH beat AS (
    INSERT INTO node (id, seen_at, generation, polls, address) VALUES ($1, clock_timestamp(), $2, $3, $4)
    ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, generation = excluded.generation, polls = excluded.polls
    RETURNING id
  ), others AS (
    SELECT count(*)::int AS others, (count(*) FILTER (WHERE polls))::int AS polling,
           (count(*) FILTER (WHERE generation < $2))::int AS lagging
      FROM node WHERE id <> $1 AND seen_at > clock_timestamp() - make_interval(secs => $5)
  )
  SELECT others.*, ${SEAL_COLUMNS},
         ${DATABASE_TIME} AS at,
         CASE WHEN $3 THEN NULL ELSE pg_notify('${CHANNEL}', $6) END
    FROM others CROSS JOIN beat LEFT JOIN seal ON true`,
};
const TIDY = {
  name: 'node-tidy',
  text: `WITH gone AS (DELETE FROM node WHERE seen_at < clock_timestamp() - interval '1 minute')
         DELETE FROM change WHERE at < clock_timestamp() - interval '1 minute'`,
};
const NOTHING = { name: 'change-nothing', text: 'SELECT' };
const LEAVE = { name: 'node-leave', text: 'DELETE FROM node WHERE id = $1' };
const TELL = { name: 'change-tell', text: `SELECT pg_notify('${CHANNEL}', $1)` };
const STORE = { name: 'change-store', text: 'INSERT INTO change (node, keys) VALUES ($1, $2) RETURNING id' };
const SEE = { name: 'change-see', text: 'SELECT keys FROM change WHERE id = $1' };
// Ids become visible out of order, so a poll looks back further than necessary and skips known notices.
const POLL = {
  name: 'change-poll',
  text: `SELECT id, keys FROM change WHERE node <> $1 AND at > clock_timestamp() - interval '10 seconds'`,
};

/**
 * Tells other nodes which cached entries to forget, and receives their notices. A single node sends nothing. A node
 * receives its own heartbeat as proof that notices arrive. If the heartbeat does not arrive, the node forgets
 * everything cached, and does not use caches until heartbeats arrive again.
 */
export class NodeChanges extends Listeners implements ChangeNotices {
  readonly id = randomUUID();
  /** Number of other living nodes at the last heartbeat. */
  others = 0;
  /** The number of other nodes that do not yet have this node's keyring generation. */
  lagging = 0;
  private readonly channels = new Set<string>();
  /** The connection for notices and heartbeats. */
  private own: pg.Client | undefined;
  private timer: NodeJS.Timeout | undefined;
  private stopped = true;
  private polls: boolean;
  private othersPoll = false;
  private generation = 0;
  private joinedMs = Number.POSITIVE_INFINITY;
  /** The time at which the newest received heartbeat was sent. */
  private heardMs = Number.NEGATIVE_INFINITY;
  /** The number of notices that are stored but not yet read. */
  private fetching = 0;
  private beatMs = Number.NEGATIVE_INFINITY;
  /** When the last heartbeat began, so that a slow heartbeat does not delay the next. */
  private begunMs = Number.NEGATIVE_INFINITY;
  private unheard = 0;
  private beatCount = 0;
  private failing = false;
  private running: Promise<void> | undefined;
  /** The current round trip that waits for notices, and the next one. */
  private pendingQuestion: Promise<void> | undefined;
  private nextAsking: Promise<void> | undefined;

  constructor(private readonly options: ChangesOptions) {
    super();
    this.polls = options.poll ?? false;
  }

  get fresh(): boolean {
    const now = performance.now();
    return this.fetching === 0 && now - this.heardMs <= STALE_MS && now - this.joinedMs >= JOIN_MS;
  }

  /** Milliseconds since this node sent the last received heartbeat; infinite before the first. */
  get silenceMs(): number {
    return performance.now() - this.heardMs;
  }

  /** The keyring generation this node has, shown to the others with the next heartbeat. */
  setGeneration(generation: number): void {
    this.generation = generation;
  }

  /** Registers the node and starts to receive; resolves when the first heartbeat is written. */
  async start(): Promise<void> {
    this.stopped = false;
    await this.beat();
    this.schedule();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.running;
    const { own } = this;
    this.own = undefined;
    await own?.query({ ...LEAVE, values: [this.id] }).catch(() => {});
    await own?.end().catch(() => {});
  }

  /** True if a commit must notify other nodes, or if this node cannot be sure that there are none. */
  get mustTell(): boolean {
    const { beatMs = 300 } = this.options;
    return this.others > 0 || performance.now() - this.beatMs > beatMs * 2 + 100;
  }

  /**
   * Receives all notices sent before now. They arrive before the answer to any query on the listening connection, so
   * one round trip is sufficient, and simultaneous callers share it. If it fails, this node is not fresh.
   */
  catchUp(): Promise<void> {
    if (!this.mustTell) return Promise.resolve();
    // A round trip in progress may have started before the change.
    this.nextAsking ??= (this.pendingQuestion ?? Promise.resolve()).then(() => {
      this.nextAsking = undefined;
      const question = this.ask().finally(() => {
        if (this.pendingQuestion === question) this.pendingQuestion = undefined;
      });
      this.pendingQuestion = question;
      return question;
    });
    return this.nextAsking;
  }

  /**
   * Resolves when every node has received the notices sent before now. By then, a node that has not received them no
   * longer uses its caches, and reads entries from the database again.
   */
  async heardByAll(): Promise<void> {
    if (this.mustTell) await setTimeout(STALE_MS);
  }

  private async ask(): Promise<void> {
    try {
      if (this.polls) await this.poll();
      else await Promise.race([this.own?.query(NOTHING), setTimeout(STALE_MS, undefined, { ref: false })]);
    } catch {
      this.heardMs = Number.NEGATIVE_INFINITY;
    }
  }

  /** Sends notices inside a transaction, so that they are delivered exactly when it commits. */
  async tell(tx: Pick<Tx, 'query'>, notices: readonly Notice[]): Promise<void> {
    if (notices.length === 0) return;
    const lines = noticeLines(notices);
    const payload = noticesPayload(this.id, lines);
    const fits = Buffer.byteLength(payload) <= MAX_PAYLOAD_BYTES;
    if (fits && !this.othersPoll) {
      await tx.query(TELL, [payload]);
      return;
    }
    const { rows } = await tx.query<{ id: string }>(STORE, [this.id, lines]);
    await tx.query(TELL, [fits ? payload : seePayload(this.id, rows[0]!.id)]);
  }

  private schedule(): void {
    if (this.stopped) return;
    const waitMs = Math.max(0, (this.options.beatMs ?? 300) - (performance.now() - this.begunMs));
    this.timer = globalThis.setTimeout(() => {
      this.running = this.beat().finally(() => this.schedule());
    }, waitMs);
  }

  private async beat(): Promise<void> {
    this.begunMs = performance.now();
    try {
      const client = this.own ?? (await this.connect());
      const { time, silence } = this.options;
      const askedMs = performance.now();
      const finishComparison = time?.compare();
      // Heartbeats use a separate connection, because a busy pool must not delay them.
      const { rows } = await client.query<BeatRow & pg.QueryResultRow>({
        ...BEAT,
        values: [
          this.id,
          this.generation,
          this.polls,
          this.options.address,
          GONE_MS / 1000,
          beatPayload(this.id, askedMs),
        ],
      });
      const row = rows[0]!;
      finishComparison?.(row.at);
      silence?.noteAnswer();
      this.failing = false;
      this.others = row.others;
      this.othersPoll = row.polling > 0;
      this.lagging = row.lagging;
      this.beatMs = performance.now();
      if (this.polls) await this.poll();
      else this.countUnheard();
      this.notify(row, askedMs);
      this.beatCount++;
      if (this.beatCount % TIDY_BEATS === 0) await client.query(TIDY);
      if (this.polls && !this.options.poll && this.beatCount % LISTEN_AGAIN_BEATS === 0) {
        this.polls = false;
        this.dropConnection();
      }
    } catch (error) {
      if (!this.failing) this.options.log?.warn({ err: error }, 'heartbeat failed');
      this.failing = true;
      this.dropConnection();
    }
  }

  private async connect(): Promise<pg.Client> {
    const client = this.options.connect();
    client.on('notification', ({ payload }) => {
      const message = parsePayload(payload ?? '');
      if (message) this.receive(message);
    });
    const onLoss = () => {
      if (this.own === client) this.dropConnection();
    };
    client.on('error', onLoss);
    client.on('end', onLoss);
    await client.connect();
    this.own = client;
    if (!this.polls) await client.query(`LISTEN ${CHANNEL}`);
    return client;
  }

  /**
   * Drops the listening connection. Notices are lost while there is no listener, so cached values can no longer be
   * trusted.
   */
  private dropConnection(): void {
    const client = this.own;
    this.own = undefined;
    this.heardMs = Number.NEGATIVE_INFINITY;
    this.applyAll();
    client?.end().catch(() => {});
  }

  private receive(message: Message): void {
    if (message.node === this.id) {
      if (message.kind === 'beat') this.alive(message.askedMs);
      return;
    }
    if (message.kind === 'beat') {
      // A new node has joined. From now on notices must be sent, so this does not wait for our next heartbeat.
      this.others = Math.max(this.others, 1);
    } else if (message.kind === 'notices') {
      this.apply(message.notices);
    } else {
      this.fetch(message.change);
    }
  }

  private alive(askedMs: number): void {
    this.unheard = 0;
    // After such a silence, other nodes may have considered this node dead and sent it nothing; they must first notice
    // it again.
    if (this.silenceMs > FORGOTTEN_MS) {
      this.applyAll();
      this.joinedMs = performance.now();
    }
    this.heardMs = askedMs;
  }

  private fetch(change: string): void {
    this.fetching++;
    this.options.database
      .query<{ keys: string }>(SEE, [change])
      .then(({ rows }) => (rows[0] ? this.apply(parseNoticeLines(rows[0].keys)) : this.applyAll()))
      .catch(() => this.applyAll())
      .finally(() => {
        this.fetching--;
      });
  }

  /**
   * Counts heartbeats that were not received. If queries work but notifications never arrive, because of a pooler, the
   * node polls for changes instead.
   */
  private countUnheard(): void {
    this.unheard++;
    // The listening connection may be silently dead: try a new one first.
    if (this.unheard === UNHEARD_BEATS_BEFORE_POLLING / 2) this.dropConnection();
    if (this.unheard <= UNHEARD_BEATS_BEFORE_POLLING) return;
    this.unheard = 0;
    this.options.log?.warn({}, 'notifications do not arrive; polling for changes instead');
    this.polls = true;
    this.dropConnection();
  }

  private async poll(): Promise<void> {
    const askedMs = performance.now();
    const { rows } = await this.options.database.query<{ id: string; keys: string }>(POLL, [this.id]);
    for (const { id, keys } of rows) {
      if (this.channels.has(id)) continue;
      this.channels.add(id);
      this.apply(parseNoticeLines(keys));
    }
    const current = new Set(rows.map((row) => row.id));
    for (const id of this.channels) if (!current.has(id)) this.channels.delete(id);
    this.alive(askedMs);
  }
}

/** The part of change notices that the rest of a node uses, independent of how they are received. */
export type NodeNotices = Pick<NodeChanges, keyof NodeChanges>;
