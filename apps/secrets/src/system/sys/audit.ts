import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Audit } from '../../kernel/audit/audit';
import { anything, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { data, empty } from '../../sdk/reply';

const declared = 'cannot enable audit device via API; use declarative, config-based audit device management instead';

export function auditPaths(audit: Audit) {
  return [
    path('audit', {
      summary: 'The audit devices.',
      sudo: true,
      rootNamespaceOnly: true,
      responseFormat: 'injected',
      read: {
        summary: 'List the audit devices.',
        operationId: 'auditing-list-enabled-devices',
        output: z.record(z.string(), z.looseObject({ type: z.string() })),
        auditClear: 'all',
        run() {
          const shown: Record<string, unknown> = {};
          for (const { path: at, type, description, options } of audit.list()) {
            shown[at] = { type, description, options, local: false, path: at };
          }
          return data(shown);
        },
      },
    }),
    path('audit/:path*', {
      summary: 'An audit device; devices are set up by configuration.',
      params: { path: 'folder' },
      sudo: true,
      rootNamespaceOnly: true,
      write: {
        summary: 'Refused: devices are set up by configuration.',
        operationId: 'auditing-enable-device',
        input: z.object({
          type: string().optional(),
          options: anything().optional(),
          description: string().optional(),
        }),
        run() {
          throw new Refusal('invalid', declared);
        },
      },
      delete: {
        summary: 'Deleting an absent device succeeds; a configured one is refused.',
        operationId: 'auditing-disable-device',
        run({ params }) {
          if (audit.find(params.path)) throw new Refusal('invalid', declared.replace('enable', 'disable'));
          return empty;
        },
      },
    }),
    path('audit-hash/:path*', {
      summary: 'The keyed hash of a text, as audit lines show it.',
      params: { path: 'folder' },
      rootNamespaceOnly: true,
      write: {
        summary: 'Hash a text as a device does.',
        operationId: 'auditing-calculate-hash',
        input: z.object({ input: string().optional().describe('The text.') }),
        output: z.object({ hash: z.string() }),
        run({ params, input }) {
          const at = `${params.path}/`;
          if (!input.input) throw new Refusal('invalid', 'the "input" parameter is empty');
          if (!audit.find(at)) throw new Refusal('invalid', `unknown audit backend "${at}"`);
          return data({ hash: audit.hash(input.input) });
        },
      },
    }),
  ];
}
