import type { ServiceName } from '../backup/service-database';
import type { Severity } from './finding';

/** A check of a service's tables: there should be no such rows. */
interface Question {
  readonly about: string;
  readonly severity: Severity;
  /** A statement with one row and one column, `count`. */
  readonly count: string;
  readonly fine: string;
  readonly what: (count: number) => string;
  readonly next: string;
}

const late = "(extract(epoch FROM clock_timestamp() - interval '15 minutes') * 1000)::bigint";

const secrets: readonly Question[] = [
  {
    about: 'leases',
    severity: 'warning',
    count: `SELECT count(*) FROM lease WHERE due_at_ms < ${late}`,
    fine: 'leases end in time',
    what: (count) => `${count} leases should have ended over 15 minutes ago: their credentials may still work`,
    next: 'check that a node runs, and that the systems behind the engines answer (docs/guides/leases.md)',
  },
  {
    about: 'jobs',
    severity: 'warning',
    count: `SELECT count(*) FROM job WHERE due_at_ms < ${late}`,
    fine: 'jobs are in time',
    what: (count) => `${count} jobs are over 15 minutes late`,
    next: 'check that a node runs and is unsealed; its log says why jobs fail',
  },
  {
    about: 'outside effects',
    severity: 'warning',
    count: `SELECT count(*) FROM intent WHERE due_at_ms < ${late}`,
    fine: 'nothing in outside systems waits to be undone',
    what: (count) => `${count} effects in outside systems have waited over 15 minutes to be settled or undone`,
    next: 'check that the systems behind the engines can be reached',
  },
  {
    about: 'nodes',
    severity: 'critical',
    count: `SELECT CASE WHEN EXISTS (SELECT 1 FROM node WHERE seen_at > clock_timestamp() - interval '1 minute')
                   THEN 0 ELSE 1 END AS count`,
    fine: 'a node is alive',
    what: () => 'no node of the service has been seen for a minute',
    next: 'start one, or unseal it',
  },
];

const workspaces: readonly Question[] = [
  {
    about: 'workers',
    severity: 'critical',
    count: `SELECT count(*) FROM run_job WHERE state = 'queued' AND queued_at < clock_timestamp() - interval '10 minutes'
            AND NOT EXISTS (SELECT 1 FROM run_worker WHERE ended_at IS NULL AND seen_at > clock_timestamp() - interval '2 minutes')`,
    fine: 'no run waits while there is no worker',
    what: (count) => `${count} runs wait, and no worker or agent has been seen for two minutes`,
    next: 'start a worker (docs/guides/remote-runs.md) or an agent (docs/guides/agents.md)',
  },
  {
    about: 'runs',
    severity: 'warning',
    count: `SELECT count(*) FROM run_job WHERE state = 'queued' AND queued_at < clock_timestamp() - interval '1 hour'`,
    fine: 'no run waits for long',
    what: (count) => `${count} runs have waited for over an hour`,
    next: 'start more workers, or find out why the running ones do not take these runs',
  },
  {
    about: 'notifications',
    severity: 'warning',
    count: `SELECT count(*) FROM notification_delivery WHERE (done_at IS NULL AND due_at < clock_timestamp() - interval '15 minutes')
            OR (successful = false AND sent_at > clock_timestamp() - interval '1 day')`,
    fine: 'notifications arrive',
    what: (count) => `${count} notifications are late, or failed within a day`,
    next: 'look at the deliveries of the configurations: the receiver refuses them, or cannot be reached',
  },
  {
    about: 'webhooks of Git hosts',
    severity: 'warning',
    count: `SELECT count(*) FROM vcs_delivery WHERE (state = 'waiting' AND next_at < clock_timestamp() - interval '15 minutes')
            OR (state = 'failed' AND received_at > clock_timestamp() - interval '1 day')`,
    fine: 'events of Git hosts are handled',
    what: (count) => `${count} events of Git hosts are late, or failed within a day`,
    next: 'check that the host answers, and that its token is still valid',
  },
  {
    about: 'files to remove',
    severity: 'notice',
    count: 'SELECT count(*) FROM object_removal WHERE attempts > 5',
    fine: 'files are removed from their store',
    what: (count) => `${count} files could not be removed from the object store after six attempts`,
    next: 'check the permissions of the store’s credentials',
  },
  {
    about: 'administrators',
    severity: 'warning',
    count: `SELECT count(*) FROM user_account u WHERE site_admin AND suspended_at IS NULL AND password_hash IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM two_factor t WHERE t.user_id = u.id AND t.verified_at IS NOT NULL)`,
    fine: 'administrators have second factors',
    what: (count) => `${count} administrators sign in with only a password`,
    next: 'ask them to set up a second factor in their account',
  },
];

/** The checks of a service's tables. */
export const ofService = (service: ServiceName): readonly Question[] => (service === 'secrets' ? secrets : workspaces);
