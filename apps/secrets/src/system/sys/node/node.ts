import os from 'node:os';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Identity } from '../../../kernel/identity/identity';
import type { Leases } from '../../../kernel/leases/leases';
import type { MountKind } from '../../../kernel/mounts/mount';
import { livingNodes } from '../../../kernel/storage/nodes';
import type { StorageKernel } from '../../../kernel/storage/storage';
import { string } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { data, empty, keys, missing, raw } from '../../../sdk/reply';

interface NodeParts {
  readonly storage: StorageKernel;
  readonly leases: Leases;
  readonly identity: Identity;
}

/** The state of this node. */
export interface NodeFacts {
  readonly version: string;
  /** Settings without secrets, by the name of their variable. */
  settings(): Readonly<Record<string, unknown>>;
  /** The scheme of all nodes, because either all nodes use TLS or none does. */
  readonly scheme: 'http' | 'https';
  /** Text for a Prometheus scrape. */
  metrics(): Promise<string>;
  /** All kinds of mounts. */
  readonly kinds: readonly { readonly type: string; readonly kind: MountKind }[];
}

const pluginOutput = z.object({
  builtin: z.boolean(),
  deprecation_status: z.string(),
  name: z.string(),
  type: z.string(),
  version: z.string(),
});

/** Counters, settings and kinds of mounts, for operators' tools. */
export function nodePaths(parts: NodeParts, node: NodeFacts) {
  const startedAtMs = parts.storage.clock.now();
  const kindsOf = (kind: 'secret' | 'auth') =>
    node.kinds
      .filter((one) => one.kind === kind)
      .map(({ type }) => type)
      .sort();
  const plugin = (type: 'auth' | 'secret', name: string) => ({
    builtin: true,
    deprecation_status: 'supported',
    name,
    type,
    version: `v${node.version}+builtin`,
  });
  return [
    path('ha-status', {
      summary: 'The HA status of this node.',
      rootNamespaceOnly: true,
      responseFormat: 'injected',
      read: {
        summary: 'Read the HA status of this node.',
        operationId: 'ha-status',
        output: z.looseObject({ nodes: z.array(z.looseObject({})) }),
        auditClear: 'all',
        // All nodes are active. Only the address and last heartbeat of the other nodes are known.
        run: async () =>
          data({
            nodes: (await livingNodes(parts.storage)).map(({ address, heardAtMs, own }) => ({
              active_node: true,
              api_address: `${node.scheme}://${address}`,
              cluster_address: '',
              hostname: own ? os.hostname() : '',
              last_echo: new Date(heardAtMs).toISOString(),
              version: own ? node.version : '',
            })),
          }),
      },
    }),
    path('step-down', {
      summary: 'Has no effect: all nodes serve requests, and there is no leader.',
      sudo: true,
      rootNamespaceOnly: true,
      write: { summary: 'Step down; has no effect.', operationId: 'step-down-leader', run: () => empty },
    }),
    path('config/state/sanitized', {
      summary: 'The settings of this node, without secrets.',
      sudo: true,
      rootNamespaceOnly: true,
      read: {
        summary: 'Read the settings of this node.',
        operationId: 'read-sanitized-configuration-state',
        auditClear: 'all',
        run: () => data(node.settings()),
      },
    }),
    path('metrics', {
      summary: 'Metrics of this node.',
      responseFormat: 'raw',
      rootNamespaceOnly: true,
      read: {
        summary: 'Read metrics, as JSON or for Prometheus.',
        operationId: 'metrics',
        input: z.object({ format: string().optional().describe('prometheus; JSON if omitted.') }),
        output: z.looseObject({}),
        media: ['application/json', 'text/plain'],
        auditClear: 'all',
        async run({ input, nowMs }) {
          if (input.format === 'prometheus') {
            const body = await node.metrics();
            return { kind: 'raw', status: 200, body, contentType: 'text/plain; version=0.0.4' };
          }
          if (input.format) throw new Refusal('invalid', `metric response format "${input.format}" unknown`);
          const { tokens, leases, entities } = await countsOf(parts);
          const memory = process.memoryUsage();
          const gauge = (Name: string, Value: number) => ({ Name, Value, Labels: {} });
          return raw({
            Timestamp: new Date(nowMs).toISOString(),
            Gauges: [
              gauge('service.token.count', tokens),
              gauge('service.expire.num_leases', leases),
              gauge('service.identity.num_entities', entities),
              gauge('service.runtime.heap_bytes', memory.heapUsed),
              gauge('service.uptime_seconds', Math.floor((nowMs - startedAtMs) / 1000)),
            ],
            Points: [],
            Counters: [],
            Samples: [],
          });
        },
      },
    }),
    path('internal/counters/:what', {
      summary: 'Counts of tokens, entities and leases.',
      rootNamespaceOnly: true,
      read: {
        summary: 'Count tokens, entities or leases.',
        operationId: 'internal-count',
        output: z.looseObject({ counters: z.looseObject({}) }),
        auditClear: 'all',
        async run({ params }) {
          const { tokens, entities, leases } = await countsOf(parts);
          if (params.what === 'tokens') return data({ counters: { service_tokens: { total: tokens } } });
          if (params.what === 'entities') return data({ counters: { entities: { total: entities } } });
          if (params.what === 'leases') return data({ counters: { leases: { total: leases } } });
          return missing;
        },
      },
    }),
    path('plugins/catalog', {
      summary: 'The plugin catalog.',
      sudo: true,
      rootNamespaceOnly: true,
      read: {
        summary: 'List the plugins.',
        operationId: 'plugins-catalog-list-plugins',
        output: z.object({
          auth: z.array(z.string()),
          secret: z.array(z.string()),
          database: z.array(z.string()),
          detailed: z.array(pluginOutput),
        }),
        auditClear: 'all',
        run: () =>
          data({
            auth: kindsOf('auth'),
            database: [],
            detailed: (['auth', 'secret'] as const).flatMap((kind) => kindsOf(kind).map((name) => plugin(kind, name))),
            secret: kindsOf('secret'),
          }),
      },
    }),
    path('plugins/catalog/:type', {
      summary: 'The plugins of one type.',
      sudo: true,
      rootNamespaceOnly: true,
      list: {
        summary: 'List the plugins of one type.',
        operationId: 'plugins-catalog-list-plugins-with-type',
        output: z.object({ keys: z.array(z.string()) }),
        auditClear: 'all',
        run: ({ params }) =>
          params.type === 'auth' || params.type === 'secret' ? keys(kindsOf(params.type)) : missing,
      },
    }),
    path('plugins/catalog/:type/:name', {
      summary: 'A plugin. All plugins are built in.',
      sudo: true,
      rootNamespaceOnly: true,
      delete: {
        summary: 'Deregister a plugin. Built-in plugins remain. Also succeeds if it does not exist.',
        operationId: 'plugins-catalog-remove-plugin-with-type',
        input: z.object({ version: string().optional().describe('Has no effect.') }),
        run({ params }) {
          const kind = (['auth', 'secret'] as const).find((one) => one === params.type);
          if (!kind || !kindsOf(kind).includes(params.name)) return empty;
          throw new Refusal('invalid', `${params.name} is built in and cannot be deregistered`);
        },
      },
      read: {
        summary: 'Read a plugin.',
        operationId: 'plugins-catalog-read-plugin-configuration-with-type',
        output: pluginOutput.omit({ type: true }).extend({ args: z.null(), command: z.string(), sha256: z.string() }),
        auditClear: 'all',
        run({ params }) {
          const kind = (['auth', 'secret'] as const).find((one) => one === params.type);
          if (!kind || !kindsOf(kind).includes(params.name)) return missing;
          const { type: _type, ...facts } = plugin(kind, params.name);
          return data({ args: null, command: '', sha256: '', ...facts });
        },
      },
    }),
  ];
}

async function countsOf({ identity, leases }: NodeParts) {
  return { ...(await leases.counts()), entities: await identity.entities.count() };
}
