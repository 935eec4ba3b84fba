import { Gauge, type Registry } from 'prom-client';
import type { Modules } from './modules';

/** Gauges of tokens, leases and pending work, counted when somebody asks for them. */
export function addGauges(registry: Registry, { storage, leases }: Modules): void {
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
    const shown = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    new Gauge({
      name: `secrets_${shown}`,
      help,
      registers: [registry],
      async collect() {
        // All else is worth seeing while the database is away.
        const counts = await leases.counts().catch(() => undefined);
        this.set(counts?.[name] ?? Number.NaN);
      },
    });
  }
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
    help: 'Revocations this node has claimed and not done yet.',
    registers: [registry],
    collect() {
      this.set(leases.queued);
    },
  });
}
