import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Audit } from '../../../kernel/audit/audit';
import { offHere, type StoredAudit } from '../../../kernel/audit/stored-audit';
import { announced, bool, keyValues, string } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { data, empty } from '../../../sdk/reply';
import { readDevice } from './audit-options';

const pathText = /^\w(?:[\w.-]*\w)?(?:\/\w(?:[\w.-]*\w)?)*$/;

/** `sys/audit`: the configured devices, and the devices that this endpoint enabled if the configuration allows it. */
export function auditPaths({ devices, hash }: Audit, stored: StoredAudit) {
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
          for (const { path: at, type, description, options, local } of devices.list()) {
            shown[at] = { type, description, options, local, path: at };
          }
          return data(shown);
        },
      },
    }),
    path('audit/:path*', {
      summary: 'An audit device.',
      description:
        'Devices are set in the configuration. With SECRETS_AUDIT_BY_API_DIRECTORY, files in that directory can be enabled and disabled here, for all nodes; with SECRETS_AUDIT_BY_API_RECEIVERS, receivers at those addresses.',
      params: { path: 'folder' },
      sudo: true,
      rootNamespaceOnly: true,
      write: {
        summary: 'Enable an audit device on every node.',
        operationId: 'auditing-enable-device',
        input: z.object({
          type: announced(string(), { enum: ['file', 'socket', 'syslog', 'http'] })
            .optional()
            .describe('Type of the device: file, socket, syslog or http. Required.'),
          description: announced(string(), { maxLength: 1024 }).optional().describe('Description of the device.'),
          options: keyValues()
            .optional()
            .describe(
              'Options of the device. For all types: prefix, hmac_accessor (true), format (json), log_raw (false). file: file_path (required: a file in the directory), mode (0600). socket: address (required, host:port), socket_type (tcp; udp, tls, unix), write_timeout (2s), ca_cert (PEM). syslog: address (udp://, tcp:// or tls://host:port; otherwise the local daemon), facility (AUTH), tag (keystead), write_timeout (2s), ca_cert. http: uri (required), headers (JSON: lists of values by name), write_timeout (5s), batch_lines (100), ca_cert.',
            ),
          local: bool()
            .optional()
            .describe('Accepted and shown for compatibility, without effect: every node writes to every device.'),
        }),
        // Options may contain headers that authenticate the service to a receiver.
        auditClear: ['type', 'description', 'local'],
        async run({ params, input }) {
          if (!stored.on) throw offHere();
          const at = params.path;
          if (at.length > 128 || !pathText.test(at)) {
            throw new Refusal('invalid', 'path: names of letters, digits, ".", "_" and "-" with slashes between them');
          }
          await stored.enable(`${at}/`, readDevice(input, stored.node));
          return empty;
        },
      },
      delete: {
        summary:
          'Disable an audit device on every node. Also succeeds if it does not exist. Devices set in the configuration cannot be disabled.',
        operationId: 'auditing-disable-device',
        async run({ params }) {
          const at = `${params.path}/`;
          if (await stored.has(at)) {
            if (!stored.on) throw offHere();
            await stored.disable(at);
          } else if (devices.find(at)) {
            throw new Refusal('invalid', 'cannot disable an audit device of the configuration via API');
          }
          return empty;
        },
      },
    }),
    path('audit-hash/:path*', {
      summary: 'The keyed hash of a string, as in audit lines.',
      params: { path: 'folder' },
      rootNamespaceOnly: true,
      write: {
        summary: 'Hash a string as an audit device does.',
        operationId: 'auditing-calculate-hash',
        input: z.object({ input: string().optional().describe('The string to hash.') }),
        output: z.object({ hash: z.string() }),
        run({ params, input }) {
          const at = `${params.path}/`;
          if (!input.input) throw new Refusal('invalid', 'the "input" parameter is empty');
          if (!devices.find(at)) throw new Refusal('invalid', `unknown audit backend "${at}"`);
          return data({ hash: hash(input.input) });
        },
      },
    }),
  ];
}
