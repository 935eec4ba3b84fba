import { describe, expect, it } from '@jest/globals';
import { system } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import type { Workspace } from './workspace';
import { editing, type Proposed } from './writes';

describe('edits of one workspace in a batch', () => {
  const revisions = { revision: 1n, organizationRevision: 1n, projectRevision: 1n };
  const current = { id: 'ws-1', ...revisions, organizationId: 'org-1', projectId: 'prj-1', name: 'a' } as Workspace;
  const edit = (apply: Proposed['apply']): Proposed => ({
    actor: system,
    ifMatch: undefined,
    db: { newest: () => undefined, remembered: async () => undefined } as unknown as Database,
    current,
    apply,
  });

  it('fail individually, also by errors that are not refusals', () => {
    const fault = new TypeError('a fault of one edit');
    const results = editing
      .batch([
        edit((_current, before) => ({ ...before, description: 'one' })),
        edit(() => {
          throw fault;
        }),
        edit((_current, before) => ({ ...before, description: `${before.description} two` })),
      ])
      .settle([{ id: 'ws-1', revision: '2', auto_destroy_due_at: null }]);
    const edited = expect.objectContaining({ description: 'one two', revision: 2n });
    expect(results).toEqual([edited, fault, edited]);
  });
});
