import type { Keyring } from '@keystead/keyring';
import type { Logger } from '@keystead/server';
import { sweepBlobs } from './kernel/blobs';
import type { Database } from './kernel/database';
import { removeObjects } from './kernel/objects';
import { sweep } from './resources/data-retention/sweep';
import { eraseRemoved } from './resources/organizations/removal';
import { sweep as sweepQuarantine } from './resources/state-versions/quarantine';
import { readUnread } from './resources/state-versions/unread';

/** Something done every so often, on every node; the database says who does which part. */
interface Job {
  readonly name: string;
  readonly everySeconds: number;
  run(): Promise<unknown>;
}

/** Work that no request waits for. */
export interface Housekeeping {
  /** Stops after the job under way. */
  close(): Promise<void>;
}

const DAY_MS = 86_400_000;

function jobsOf(db: Database, keyring: Keyring, now: () => number): readonly Job[] {
  return [
    { name: 'erase removed organizations', everySeconds: 5, run: () => eraseRemoved(db) },
    { name: 'apply retention policies', everySeconds: 600, run: () => sweep(db, now()) },
    { name: 'remove unfinished uploads', everySeconds: 600, run: () => sweepBlobs(db, now()) },
    { name: 'delete objects of removed blobs', everySeconds: 30, run: () => removeObjects(db) },
    { name: 'read unread states', everySeconds: 10, run: () => readUnread(db, keyring) },
    { name: 'empty the quarantine', everySeconds: 3600, run: () => sweepQuarantine(db, now()) },
    {
      name: 'forget idempotency keys',
      everySeconds: 3600,
      run: () => db.prisma.idempotencyKey.deleteMany({ where: { createdAt: { lt: new Date(now() - DAY_MS) } } }),
    },
  ];
}

/** Starts the background jobs of a service process. A job that fails is logged and tried again at its next time. */
export function startHousekeeping(
  db: Database,
  options: { log: Logger; keyring: Keyring; now: () => number },
): Housekeeping {
  const { log, keyring, now } = options;
  let closed = false;
  const running = jobsOf(db, keyring, now).map((job) => {
    let timer: NodeJS.Timeout | undefined;
    let current: Promise<void> = Promise.resolve();
    const once = async (): Promise<void> => {
      try {
        await job.run();
      } catch (error) {
        log.error({ err: error, job: job.name }, 'job failed');
      }
      if (!closed) {
        timer = setTimeout(start, job.everySeconds * 1000);
        timer.unref();
      }
    };
    const start = (): void => {
      current = once();
    };
    start();
    return () => {
      clearTimeout(timer);
      return current;
    };
  });
  return {
    async close() {
      closed = true;
      await Promise.all(running.map((stop) => stop()));
    },
  };
}
