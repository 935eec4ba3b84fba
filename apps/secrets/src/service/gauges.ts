import { Counter, Gauge, type Registry } from 'prom-client';
import { countExpiring, type ExpiringKind, RowCounts, withins } from '../kernel/leases/counts';
import { endEntry } from '../sdk/ending';
import type { Modules } from './modules';

/** Gauges of tokens, leases and pending work, counted on request. */
export function addGauges(registry: Registry, { storage, mounts, leases, audit, reads, attempts }: Modules): void {
  const names = {
    leases: 'Leases there are.',
    irrevocable: 'Leases that could not be revoked.',
    due: 'Leases whose end has come and that are not yet revoked.',
    ending: 'Leases being revoked.',
    tokens: 'Service tokens there are.',
    tokensDue: 'Tokens whose end has come and that are not yet removed.',
    intents: 'Outside effects that are not settled.',
  } as const;
  for (const [name, help] of Object.entries(names) as [keyof typeof names, string][]) {
    const snakeName = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    new Gauge({
      name: `secrets_${snakeName}`,
      help,
      registers: [registry],
      async collect() {
        // The other gauges are useful even while the database is unavailable.
        const counts = await leases.counts().catch(() => undefined);
        this.set(counts?.[name] ?? Number.NaN);
      },
    });
  }
  const expiring = new RowCounts(() => countExpiring(storage, mounts.all(), (ms) => endEntry(ms, '')));
  new Gauge({
    name: 'secrets_expiring',
    help: 'Tokens, certificates, and newest versions of secrets that expire within this time.',
    labelNames: ['kind', 'within'],
    registers: [registry],
    async collect() {
      const counts = await expiring.now().catch(() => undefined);
      for (const kind of ['tokens', 'certificates', 'secrets'] satisfies ExpiringKind[]) {
        for (const within of Object.keys(withins) as (keyof typeof withins)[])
          this.set({ kind, within }, counts?.[kind][within] ?? Number.NaN);
      }
    },
  });
  new Gauge({
    name: 'secrets_sealed',
    help: '1 while this node has no keys.',
    registers: [registry],
    collect() {
      this.set(storage.barrier.sealed ? 1 : 0);
    },
  });
  new Gauge({
    name: 'secrets_revocations_queued',
    help: 'Revocations that this node has claimed and not finished.',
    registers: [registry],
    collect() {
      this.set(leases.queued);
    },
  });
  new Gauge({
    name: 'secrets_commits_waiting',
    help: 'Writes and batches of writes that are waiting for the database.',
    registers: [registry],
    collect() {
      this.set(storage.committer.pending);
    },
  });
  new Gauge({
    name: 'secrets_other_nodes',
    help: 'Other live nodes on the same database that this node knows.',
    registers: [registry],
    collect() {
      this.set(storage.changes.others);
    },
  });
  new Gauge({
    name: 'secrets_hears_changes',
    help: '1 while this node reliably receives change notices. Otherwise it does not answer from its cache.',
    registers: [registry],
    collect() {
      this.set(storage.changes.fresh ? 1 : 0);
    },
  });
  new Gauge({
    name: 'standby_lag_seconds',
    help: 'Lag of the standby that this node reads from; 0 if it does not read from a standby.',
    registers: [registry],
    collect() {
      this.set((storage.standbyLag?.ms ?? 0) / 1000);
    },
  });
  const receivers = () => audit.devices.list().filter(({ backlog }) => backlog);
  new Gauge({
    name: 'secrets_audit_receiver_away',
    help: '1 while the receiver of an audit device accepts nothing.',
    labelNames: ['device'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { path, backlog } of receivers()) this.set({ device: path }, backlog!.away ? 1 : 0);
    },
  });
  new Gauge({
    name: 'secrets_audit_waiting_lines',
    help: 'Lines waiting for the receiver of an audit device.',
    labelNames: ['device'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { path, backlog } of receivers()) this.set({ device: path }, backlog!.waiting);
    },
  });
  new Counter({
    name: 'secrets_audit_dropped_lines_total',
    help: 'Lines that the receiver of an audit device will never get.',
    labelNames: ['device'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { path, backlog } of receivers()) this.inc({ device: path }, backlog!.dropped);
    },
  });
  new Counter({
    name: 'secrets_audit_failures_total',
    help: 'Lines that an audit device did not accept.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(audit.devices.failures);
    },
  });
  new Counter({
    name: 'secrets_audit_reads_dropped_total',
    help: 'Reads that this node did not record in the table.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(reads.dropped);
    },
  });
  for (const [what, help] of [
    ['locked', 'Times that wrong passwords locked a user out, on this node.'],
    ['unlocked', 'Times that an administrator unlocked a user, on this node.'],
  ] as const) {
    new Counter({
      name: `secrets_users_${what}_total`,
      help,
      registers: [registry],
      collect() {
        this.reset();
        this.inc(attempts.counts[what]);
      },
    });
  }
}
