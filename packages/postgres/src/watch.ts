import pg from 'pg';
import type { Bell } from './bell';
import { DATABASE_TIME, type DatabaseClock } from './database-clock';
import type { Silence } from './silence';
import { isStandby, REPLAY_LAG, ReadOnlyServer, type ReplayLag, SIGN_OF_LIFE, watchForStandby } from './standby';

/** The options of a watch. */
export interface WatchOptions {
  readonly url: string;
  readonly applicationName: string;
  readonly clock: DatabaseClock;
  readonly silence?: Silence;
  /** If set, the database may be a standby. It sends no notices, and its lag is measured. */
  readonly lag?: ReplayLag;
  /** Rings at every notice on a channel of the database. A pooler may drop notices, so no code may depend on them. */
  readonly rings?: { readonly channel: string; readonly bell: Bell };
}

const ASK_PRIMARY = `SELECT ${DATABASE_TIME} AS at, ${SIGN_OF_LIFE} AS sign`;
const ASK_STANDBY = `SELECT ${DATABASE_TIME} AS at, ${REPLAY_LAG} AS lag`;
const EVERY_MS = 500;
/** The time after which a watch stops waiting for an answer. */
const PATIENCE_MS = 2000;

/**
 * Asks a database for its time twice a second, on a separate connection, so that a node with a busy pool does not
 * consider its database unavailable.
 */
export class DatabaseWatch {
  private client: pg.Client | undefined;
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;
  private running: Promise<void> = Promise.resolve();

  constructor(private readonly options: WatchOptions) {}

  /** Resolves when the first question was answered or has failed. */
  async start(): Promise<void> {
    await this.look();
    this.schedule();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.running;
    await this.client?.end().catch(() => {});
  }

  private schedule(): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => {
      this.running = this.look().finally(() => this.schedule());
    }, EVERY_MS);
    this.timer.unref();
  }

  private async look(): Promise<void> {
    const { clock, silence, lag } = this.options;
    try {
      const client = this.client ?? (await this.connect());
      const finish = clock.compare();
      const behind = lag?.ask();
      const { rows } = await client.query<{ at: number; lag: number | null }>(lag ? ASK_STANDBY : ASK_PRIMARY);
      finish(rows[0]!.at);
      behind?.(rows[0]!.lag);
      silence?.noteAnswer();
    } catch {
      // Callers that need the database report that it is unavailable.
      this.drop();
    }
  }

  private async connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.options.url,
      application_name: this.options.applicationName,
      keepAlive: true,
      connectionTimeoutMillis: PATIENCE_MS,
      query_timeout: PATIENCE_MS,
    });
    client.on('error', () => this.drop());
    client.on('end', () => this.drop());
    const { rings, lag } = this.options;
    if (!lag) watchForStandby(client);
    await client.connect();
    this.client = client;
    if (!lag && isStandby(client)) throw new ReadOnlyServer();
    if (rings && !lag) {
      client.on('notification', () => rings.bell.ring());
      await client.query(`LISTEN ${pg.escapeIdentifier(rings.channel)}`);
    }
    return client;
  }

  private drop(): void {
    const { client } = this;
    this.client = undefined;
    client?.end().catch(() => {});
  }
}
