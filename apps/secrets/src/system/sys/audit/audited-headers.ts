import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { holdsCredential } from '../../../kernel/audit/headers';
import type { StoredAudit } from '../../../kernel/audit/stored-audit';
import { bool } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { data, empty } from '../../../sdk/reply';

const Rule = z.object({ hmac: z.boolean() });
const where = { sudo: true, rootNamespaceOnly: true } as const;

/** `sys/config/auditing/request-headers`: the request headers that audit lines include. */
export function auditedHeaderPaths(stored: StoredAudit) {
  return [
    path('config/auditing/request-headers', {
      summary: 'The request headers in audit lines.',
      ...where,
      read: {
        summary: 'List the audited request headers.',
        operationId: 'auditing-list-request-headers',
        output: z.object({ headers: z.record(z.string(), Rule) }),
        auditClear: 'all',
        run: () => data({ headers: Object.fromEntries(stored.headers()) }),
      },
    }),
    path('config/auditing/request-headers/:header', {
      summary: 'An audited request header.',
      description: 'Its values are in both audit lines of every request that has it, as `request.headers`.',
      ...where,
      params: { header: /^[\w!#$%&'*+.^`|~-]{1,128}$/ },
      folds: { header: 'ascii-case' },
      paramDocs: { header: 'Name of the header.' },
      read: {
        summary: 'Read whether the values of a header are hashed.',
        operationId: 'auditing-read-request-header-information',
        output: z.record(z.string(), Rule),
        auditClear: 'all',
        run({ params, written }) {
          const rule = stored.headers().get(params.header);
          if (!rule) throw new Refusal('invalid', 'Could not find header in config');
          return data({ [written?.shown ?? params.header]: rule });
        },
      },
      write: {
        summary: 'Audit a header, or change whether its values are hashed.',
        operationId: 'auditing-enable-request-header',
        input: z.object({
          hmac: bool()
            .optional()
            .describe('Hash the values of the header in audit lines. Otherwise they are shown in clear.'),
        }),
        auditClear: 'all',
        async run({ params: { header }, input }) {
          const hmac = input.hmac ?? false;
          if (!hmac && holdsCredential(header)) {
            throw new Refusal('invalid', `${header} holds a credential: hmac must be true`);
          }
          await stored.auditHeader(header, { hmac });
          return empty;
        },
      },
      delete: {
        summary: 'Stop auditing a header. Also succeeds if it is not audited.',
        operationId: 'auditing-disable-request-header',
        async run({ params }) {
          await stored.leaveHeader(params.header);
          return empty;
        },
      },
    }),
  ];
}
