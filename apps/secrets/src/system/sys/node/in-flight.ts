import { z } from 'zod';
import type { InFlightRequest } from '../../../kernel/routing/in-flight';
import type { Verb } from '../../../sdk/call';
import { path } from '../../../sdk/path';
import { raw } from '../../../sdk/reply';

const methods: Readonly<Record<Verb, string>> = {
  read: 'GET',
  list: 'LIST',
  scan: 'SCAN',
  write: 'POST',
  patch: 'PATCH',
  delete: 'DELETE',
};

/** `sys/in-flight-req`: the requests in progress on the answering node. */
export function inFlightPath(inFlight: () => readonly InFlightRequest[]) {
  return path('in-flight-req', {
    summary: 'The requests in progress on the node that answers.',
    sudo: true,
    rootNamespaceOnly: true,
    responseFormat: 'raw',
    read: {
      summary: 'Read the requests in progress on this node, by request ID.',
      operationId: 'collect-in-flight-request-information',
      output: z.record(
        z.string(),
        z.object({
          start_time: z.string(),
          client_remote_address: z.string(),
          request_path: z.string(),
          request_method: z.string(),
          client_id: z.string(),
        }),
      ),
      auditClear: 'all',
      run() {
        const shown = inFlight().map(
          (one) =>
            [
              one.id,
              {
                start_time: new Date(one.startedAtMs).toISOString(),
                client_remote_address: one.address,
                request_path: one.path,
                request_method: methods[one.verb],
                client_id: one.entityId,
              },
            ] as const,
        );
        return raw(Object.fromEntries(shown));
      },
    },
  });
}
