import { randomUUID } from 'node:crypto';
import { DATABASE_TIME, type DatabaseClock, REPLAY_LAG, type ReplayLag, type Silence } from '@keystead/postgres';
import type pg from 'pg';
import type { NodeNotices } from './changes';
import { Listeners, SEAL_COLUMNS, type SealRow } from './listeners';

export interface StandbyChangesOptions {
  /** Opens the connection for polling; nothing else uses it, and its queries have timeouts. */
  readonly connect: () => pg.Client;
  readonly lag: ReplayLag;
  /** The clock that is compared with the time of the database at every poll. */
  readonly time?: DatabaseClock;
  /** Notified of every answered poll. */
  readonly silence?: Silence;
  readonly log?: { warn(fields: object, message: string): void };
}

interface LookRow extends SealRow {
  readonly at: number;
  readonly lag: number | null;
}

const LOOK = {
  name: 'standby-look',
  text: `SELECT ${SEAL_COLUMNS}, ${DATABASE_TIME} AS at, ${REPLAY_LAG} AS lag
           FROM (SELECT) AS one LEFT JOIN seal ON true`,
};
const LOOK_MS = 1000;

/**
 * The changes of a node that reads from a standby, which sends no notices. The node clears its caches at every poll. So
 * cached values were read after the last poll, and are never older than the allowed lag of the standby.
 */
export class StandbyChanges extends Listeners implements NodeNotices {
  readonly id = randomUUID();
  readonly others = 0;
  readonly lagging = 0;
  readonly mustTell = false;
  private own: pg.Client | undefined;
  private timer: NodeJS.Timeout | undefined;
  private stopped = true;
  private heardMs = Number.NEGATIVE_INFINITY;
  private failing = false;
  private running: Promise<void> | undefined;

  constructor(private readonly options: StandbyChangesOptions) {
    super();
  }

  get fresh(): boolean {
    return this.options.lag.trouble === undefined;
  }

  get silenceMs(): number {
    return performance.now() - this.heardMs;
  }

  /** Sends nothing to others. */
  setGeneration(): void {}

  async start(): Promise<void> {
    this.stopped = false;
    await this.look();
    this.schedule();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.running;
    await this.own?.end().catch(() => {});
  }

  async catchUp(): Promise<void> {}

  async heardByAll(): Promise<void> {}

  async tell(): Promise<void> {}

  private schedule(): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => {
      this.running = this.look().finally(() => this.schedule());
    }, LOOK_MS);
  }

  private async look(): Promise<void> {
    const { time, silence, lag, log } = this.options;
    try {
      const client = this.own ?? (await this.connect());
      const askedMs = performance.now();
      const compared = time?.compare();
      const behind = lag.ask();
      const { rows } = await client.query<LookRow & pg.QueryResultRow>(LOOK);
      const row = rows[0]!;
      this.applyAll();
      compared?.(row.at);
      behind(row.lag);
      silence?.noteAnswer();
      this.heardMs = askedMs;
      this.failing = false;
      this.notify(row, askedMs);
    } catch (error) {
      if (!this.failing) log?.warn({ err: error }, 'the standby does not answer');
      this.failing = true;
      this.drop();
    }
  }

  private async connect(): Promise<pg.Client> {
    const client = this.options.connect();
    const onLoss = () => {
      if (this.own === client) this.drop();
    };
    client.on('error', onLoss);
    client.on('end', onLoss);
    await client.connect();
    this.own = client;
    return client;
  }

  private drop(): void {
    const { own } = this;
    this.own = undefined;
    own?.end().catch(() => {});
  }
}
