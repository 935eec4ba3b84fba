import { z } from 'zod';
import { path } from '../../sdk/path';
import { data } from '../../sdk/reply';
import { alternativeNames } from './alternative-names';
import { allowedIssue, allowedSign, csrField } from './issue';
import { leafFields, nameFields, openKeyFields } from './issue-fields';
import { leafValidity } from './leaf';
import { nameText } from './subject';

const names = z.array(z.string());

/** Shows what `issue` or `sign` would do. */
export const dryRunPath = path('roles/:role/dry-run', {
  summary: 'A dry run of a role.',
  write: {
    summary: 'Check whether a role would issue a certificate or sign a CSR. If not, the error says why.',
    operationId: 'dry-run-role',
    input: z.object({ ...csrField, ...nameFields, user_ids: leafFields.user_ids, ...openKeyFields }),
    output: z.object({
      issuer_id: z.string(),
      subject: z.string(),
      dns_names: names,
      email_addresses: names,
      ip_addresses: names,
      uris: names,
      not_before: z.string(),
      not_after: z.string(),
    }),
    async run(call) {
      const { role, ready, named } = call.input.csr ? await allowedSign(call) : await allowedIssue(call);
      const warn = (text: string) => call.warn(text);
      const validity = leafValidity({ mount: call.mount, nowMs: call.nowMs, warn }, ready, role, call.input);
      // Throws for a name that no certificate can hold.
      alternativeNames(named.names, named.subject.length === 0);
      const { dns, emails, addresses, uris } = named.names;
      return data({
        issuer_id: ready.issuer.issuer_id,
        subject: nameText(named.subject),
        dns_names: dns,
        email_addresses: emails,
        ip_addresses: addresses,
        uris,
        not_before: new Date(validity.notBeforeMs).toISOString(),
        not_after: new Date(validity.notAfterMs).toISOString(),
      });
    },
  },
});
