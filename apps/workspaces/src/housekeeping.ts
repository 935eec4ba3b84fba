import type { Keyring } from '@keystead/keyring';
import type { Reach } from '@keystead/outside';
import { isConnectionLoss } from '@keystead/postgres';
import type { Logger, Registry } from '@keystead/server';
import { Counter, Gauge } from 'prom-client';
import { forgetEvents } from './kernel/audit/audit';
import { sweepBlobs } from './kernel/blobs/blobs';
import { removeObjects } from './kernel/blobs/chunks';
import type { Database } from './kernel/database/database';
import type { Outage } from './kernel/database/outage';
import type { Environment, SiteSettings } from './kernel/endpoints/environment';
import { followArtifacts, publishFetched } from './resources/artifacts/fetched/publish-fetched';
import { forgetRequests } from './resources/connections/forwarding/requests';
import { Turns } from './resources/connections/git-hosts/turns';
import { renewTokens } from './resources/connections/oauth/grants';
import { lookForInstallations } from './resources/connections/oauth/installations';
import { adoptRepositories } from './resources/connections/repositories/hooks';
import { eraseRemoved } from './resources/organizations/organizations/removal';
import { sweepConsoleSessions } from './resources/people/sessions/console';
import { remindOfTokens } from './resources/people/tokens/reminders';
import { forgetAssessments, startAssessments } from './resources/runs/assessments/schedule';
import { deliverDue, forgetDelivered } from './resources/runs/notifications/deliver';
import { forgetTrials } from './resources/runs/notifications/mail-trials';
import { Sender } from './resources/runs/notifications/sender';
import { sweep as sweepExports } from './resources/runs/plan-exports/service';
import { settleEvaluations } from './resources/runs/policy-evaluations/perform';
import { remindOfAutoDestroy, startAutoDestroy } from './resources/runs/runs/auto-destroy';
import { endUnserved, forgetWorkers, settleAbandoned } from './resources/runs/runs/jobs/abandoned';
import { revokeLeft } from './resources/runs/runs/jobs/inputs';
import type { SecretsService } from './resources/runs/runs/jobs/job';
import { sweepPhaseData } from './resources/runs/runs/phase-data';
import { startTriggered } from './resources/runs/runs/run-triggers';
import { performTasks } from './resources/runs/task-stages/deliver';
import { forgetDeliveries, processDeliveries } from './resources/runs/vcs/deliveries';
import { reportStatuses, writeComments } from './resources/runs/vcs/reports';
import { syncRepositories } from './resources/runs/vcs/sync-repositories';
import { reportUntriggered } from './resources/runs/vcs/untriggered-statuses';
import { type Swept, sweep } from './resources/states/data-retention/sweep';
import { sweep as sweepQuarantine } from './resources/states/state-versions/quarantine';
import { readUnread } from './resources/states/state-versions/unread';
import { releaseExpired } from './resources/workspaces/workspaces/lock';

/** A periodic job of every node; the database decides which node does which part. */
interface Job {
  readonly name: string;
  readonly everySeconds: number;
  /** Set for a job that removes expired objects. It is skipped while the clock cannot be trusted. */
  readonly byTime?: boolean;
  /** Set for a job that calls hosts of organizations. The turns keep slow hosts from delaying other hosts. */
  readonly turns?: Turns;
  run(): Promise<unknown>;
}

/** What the metrics endpoint reports about the jobs of this process. */
class JobMetrics {
  readonly runs: Counter<'job'>;
  readonly failures: Counter<'job'>;
  readonly endedAt: Gauge<'job'>;
  readonly retention: Counter<'step'>;

  constructor(registry: Registry | undefined) {
    const registers = registry === undefined ? [] : [registry];
    const by = { labelNames: ['job'] as const, registers };
    this.runs = new Counter({ ...by, name: 'job_runs_total', help: 'Background jobs that finished.' });
    this.failures = new Counter({ ...by, name: 'job_failures_total', help: 'Background jobs that failed.' });
    this.endedAt = new Gauge({
      ...by,
      name: 'job_last_run_timestamp_seconds',
      help: 'When a background job last finished, in seconds since 1970.',
    });
    this.retention = new Counter({
      name: 'retention_items_total',
      help: 'State and configuration versions that retention policies soft-deleted, and removed permanently.',
      labelNames: ['step'],
      registers,
    });
    for (const step of ['soft-deleted', 'removed']) this.retention.inc({ step }, 0);
  }

  swept({ softDeleted, removed }: Swept): void {
    this.retention.inc({ step: 'soft-deleted' }, softDeleted);
    this.retention.inc({ step: 'removed' }, removed);
  }
}

interface Options extends Pick<Environment, 'notificationReach' | 'mailer'> {
  readonly log: Logger;
  readonly outage: Outage;
  readonly keyring: Keyring;
  readonly publicUrl: string;
  readonly now: () => number;
  readonly clockTrouble: () => string | undefined;
  readonly consoleIdleMinutes: number;
  /** How often workspaces are assessed; 0 means never. Default: 24. */
  readonly assessmentHours?: number;
  /** How long a run waits for a worker with its version while there are others; default: 120. */
  readonly versionWaitSeconds?: number;
  /** How long audit events are kept; 0 means forever. Default: 400. */
  readonly auditDays?: number;
  /** The secrets service at which remaining tokens of agents are revoked; undefined if runs get no tokens. */
  readonly secrets?: SecretsService;
  readonly registry?: Registry;
  /** Undefined if no Git host is called. */
  readonly vcs?: VcsWork;
}

/** The dependencies of calls to Git hosts. */
export interface VcsWork {
  readonly reach: Reach;
  readonly publicUrl: string;
  readonly pollSeconds: number;
  /** For versions of modules and policy sets from repositories. */
  readonly uploads: Pick<Environment, 'configurationBytes' | 'largeUploads'>;
  settings(): Promise<SiteSettings>;
}

/** Work that no request waits for. */
export interface Housekeeping {
  /** Stops after the current job. */
  close(): Promise<void>;
}

const DAY_MS = 86_400_000;

/** How long a job waits for a host. A slower host delays only its own organization. */
const patienceMs = 1000;

/** A job that calls the hosts of organizations. */
function outside(name: string, everySeconds: number, run: (turns: Turns) => Promise<void>): Job {
  const turns = new Turns(patienceMs);
  return { name, everySeconds, turns, run: () => run(turns) };
}

/** The jobs that deal with repositories. */
function vcsJobs(
  db: Database,
  keyring: Keyring,
  now: () => number,
  { reach, publicUrl, pollSeconds, uploads, settings }: VcsWork,
): readonly Job[] {
  const deps = { db, keyring, reach, publicUrl };
  return [
    outside('process webhook deliveries', 1, (turns) => processDeliveries(deps, settings, turns, followArtifacts)),
    { name: 'adopt repositories of older nodes', everySeconds: 600, run: () => adoptRepositories(deps) },
    outside('sync repositories', 2, (turns) => syncRepositories(deps, settings, pollSeconds, turns, followArtifacts)),
    outside('publish versions from repositories', 2, (turns) => publishFetched({ ...deps, ...uploads }, turns)),
    outside('find app installations', 3, (turns) => lookForInstallations(deps, now, turns)),
    outside('renew Git host tokens', 15, (turns) => renewTokens(deps, now, turns)),
    outside('report commit statuses', 2, (turns) => reportStatuses(deps, turns)),
    outside('report passing statuses of commits without a run', 5, (turns) => reportUntriggered(deps, turns)),
    outside('comment on pull requests', 3, (turns) => writeComments(deps, turns)),
    { name: 'delete abandoned agent requests', everySeconds: 60, run: () => forgetRequests(db) },
    { name: 'delete old webhook deliveries', everySeconds: 3600, run: () => forgetDeliveries(db) },
  ];
}

/** All jobs of a service process. */
export function jobsOf(
  db: Database,
  {
    keyring,
    publicUrl,
    now,
    consoleIdleMinutes,
    assessmentHours = 24,
    versionWaitSeconds = 120,
    auditDays = 400,
    secrets,
    log,
    vcs,
    ...options
  }: Options,
  metrics = new JobMetrics(undefined),
): readonly Job[] {
  const sender = new Sender({ keyring, now, ...options });
  return [
    ...(vcs ? vcsJobs(db, keyring, now, vcs) : []),
    { name: 'settle runs of lost workers', everySeconds: 10, run: () => settleAbandoned(db, keyring) },
    {
      name: 'end runs whose version no worker has',
      everySeconds: 10,
      run: () => endUnserved(db, keyring, versionWaitSeconds),
    },
    { name: 'start triggered runs', everySeconds: 5, run: () => startTriggered(db, keyring) },
    {
      name: 'start auto-destroy runs',
      everySeconds: 10,
      run: () => startAutoDestroy(db, keyring),
    },
    { name: 'send auto-destroy reminders', everySeconds: 60, run: () => remindOfAutoDestroy(db) },
    {
      name: 'send reminders of expiring tokens',
      everySeconds: 600,
      byTime: true,
      run: () => remindOfTokens(db, { mailer: options.mailer, publicUrl, now }),
    },
    { name: 'start assessments', everySeconds: 30, run: () => startAssessments(db, assessmentHours) },
    { name: 'delete old assessments', everySeconds: 3600, run: () => forgetAssessments(db) },
    { name: 'deliver notifications', everySeconds: 3, run: () => deliverDue(db, sender, publicUrl) },
    outside('perform run tasks', 1, (turns) =>
      performTasks({ db, keyring, reach: options.notificationReach, publicUrl }, turns),
    ),
    {
      name: 'end policy evaluations that nothing judges',
      everySeconds: 1,
      run: () => settleEvaluations({ db, keyring }),
    },
    { name: 'delete delivered notifications', everySeconds: 3600, run: () => forgetDelivered(db) },
    { name: 'delete records of test mails', everySeconds: 3600, run: () => forgetTrials(db) },
    {
      name: 'revoke credentials of finished runs',
      everySeconds: 60,
      run: () =>
        revokeLeft({ db, keyring, secrets }, (error) =>
          log.warn({ err: error }, 'credentials of an ended run are not revoked yet'),
        ),
    },
    { name: 'delete old audit events', everySeconds: 3600, run: () => forgetEvents(db, auditDays) },
    { name: 'delete stopped workers', everySeconds: 3600, run: () => forgetWorkers(db) },
    { name: 'erase removed organizations', everySeconds: 5, run: () => eraseRemoved(db) },
    {
      name: 'apply retention policies',
      everySeconds: 600,
      byTime: true,
      run: async () => metrics.swept(await sweep(db, now())),
    },
    { name: 'remove hidden results of runs', everySeconds: 3600, byTime: true, run: () => sweepPhaseData(db, now()) },
    { name: 'remove unfinished uploads', everySeconds: 600, byTime: true, run: () => sweepBlobs(db, now()) },
    { name: 'delete expired plan exports', everySeconds: 60, run: () => sweepExports(db) },
    { name: 'delete objects of removed blobs', everySeconds: 30, run: () => removeObjects(db) },
    { name: 'end locks without a heartbeat', everySeconds: 5, run: () => releaseExpired(db) },
    { name: 'read unread states', everySeconds: 10, run: () => readUnread(db, keyring) },
    { name: 'empty the quarantine', everySeconds: 3600, byTime: true, run: () => sweepQuarantine(db, now()) },
    {
      name: 'delete ended console sessions',
      everySeconds: 600,
      byTime: true,
      run: () => sweepConsoleSessions(db, consoleIdleMinutes, now()),
    },
    {
      name: 'delete expired idempotency keys',
      everySeconds: 3600,
      byTime: true,
      run: () => db.prisma.idempotencyKey.deleteMany({ where: { createdAt: { lt: new Date(now() - DAY_MS) } } }),
    },
  ];
}

/** Starts the background jobs of a service process. A job that fails is logged and runs again at its next time. */
export function startHousekeeping(db: Database, options: Options): Housekeeping {
  const { log, outage, now, clockTrouble, registry } = options;
  const metrics = new JobMetrics(registry);
  let closed = false;
  const running = jobsOf(db, options, metrics).map((job) => {
    const label = { job: job.name };
    metrics.failures.inc(label, 0);
    let timer: NodeJS.Timeout | undefined;
    let current: Promise<void> = Promise.resolve();
    const once = async (): Promise<void> => {
      try {
        if (!job.byTime || clockTrouble() === undefined) {
          await job.run();
          metrics.runs.inc(label);
          metrics.endedAt.set(label, now() / 1000);
          outage.answered();
        }
      } catch (error) {
        metrics.failures.inc(label);
        if (isConnectionLoss(error)) outage.lost(error);
        else log.error({ err: error, job: job.name }, 'job failed');
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
      return current.then(() => job.turns?.settled());
    };
  });
  return {
    async close() {
      closed = true;
      await Promise.all(running.map((stop) => stop()));
    },
  };
}
