import os from 'node:os';
import { z } from 'zod';
import { path } from '../../../sdk/path';
import { data, keys } from '../../../sdk/reply';
import type { ReleaseHistory } from './release-history';

/** The machine of this node, and the releases that have run. */
export function hostPaths(history: ReleaseHistory) {
  return [
    path('host-info', {
      summary: 'The machine of this node.',
      sudo: true,
      rootNamespaceOnly: true,
      read: {
        summary: 'Read information about the machine of this node.',
        operationId: 'collect-host-information',
        output: z.looseObject({ timestamp: z.string() }),
        auditClear: 'all',
        run: ({ nowMs }) =>
          data({
            cpu: os.cpus().map(({ model, speed }, cpu) => ({ cpu, modelName: model, mhz: speed })),
            host: {
              hostname: os.hostname(),
              uptime: Math.floor(os.uptime()),
              os: os.platform(),
              kernelVersion: os.release(),
              kernelArch: os.arch(),
            },
            memory: { total: os.totalmem(), available: os.freemem(), used: os.totalmem() - os.freemem() },
            load: { load1: os.loadavg()[0], load5: os.loadavg()[1], load15: os.loadavg()[2] },
            timestamp: new Date(nowMs).toISOString(),
          }),
      },
    }),
    path('version-history', {
      summary: 'The version history of this installation.',
      rootNamespaceOnly: true,
      list: {
        summary: 'List the versions that have run on this installation.',
        operationId: 'version-history',
        output: z.object({ keys: z.array(z.string()), key_info: z.record(z.string(), z.looseObject({})) }),
        auditClear: 'all',
        async run() {
          const versions = await history.versions();
          let previous: string | null = null;
          const info: Record<string, unknown> = {};
          for (const { version, installedAtMs } of versions) {
            info[version] = {
              build_date: '',
              previous_version: previous,
              timestamp_installed: new Date(installedAtMs).toISOString(),
            };
            previous = version;
          }
          return keys(
            versions.map(({ version }) => version),
            info,
          );
        },
      },
    }),
  ];
}
