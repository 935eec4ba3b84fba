import { describe, expect, it } from '@jest/globals';
import { PrismaClient } from '../../generated/prisma/client';
import { isTorn, relationsOf } from './lost-races';

const { inlineSchema } = (
  new PrismaClient({ adapter: { provider: 'postgres', adapterName: 'none' } as never }) as unknown as {
    _engineConfig: { inlineSchema: string };
  }
)._engineConfig;
const relations = relationsOf(inlineSchema);

describe('data that was read in several statements', () => {
  it('takes its relations from the schema, in both directions', () => {
    expect(relations.get('Run')?.get('workspace')).toEqual({ model: 'Workspace', key: 'workspaceId', required: true });
    expect(relations.get('Workspace')?.get('sshKey')).toEqual({ model: 'SshKey', key: 'sshKeyId', required: false });
    expect(relations.get('User')?.get('twoFactor')).toEqual({ model: 'TwoFactor', key: undefined, required: false });
    const named = [...inlineSchema.matchAll(/@relation\([^)]*fields: \[(\w+)/g)].length;
    const keyed = [...relations.values()].flatMap((of) => [...of.values()]).filter(({ key }) => key !== undefined);
    expect(named).toBeGreaterThan(60);
    expect(keyed).toHaveLength(named);
  });

  it.each([
    ['a workspace of a run', 'Run', { include: { workspace: true } }, { workspace: null }, true],
    ['a run of a phase of something else', 'RunPhase', { include: { run: true } }, { runId: null, run: null }, false],
    [
      'an organization two levels down',
      'RunPhase',
      { select: { run: { select: { workspace: { include: { organization: true } } } } } },
      { run: { workspace: { organization: null } } },
      true,
    ],
    ['one of many', 'Workspace', { include: { tags: { include: { tag: true } } } }, { tags: [{ tag: null }] }, true],
    ['a key that is named', 'Workspace', { include: { sshKey: true } }, { sshKeyId: 'sshkey-1', sshKey: null }, true],
    ['a key that is not named', 'Workspace', { include: { sshKey: true } }, { sshKeyId: null, sshKey: null }, false],
    ['a factor that the user does not have', 'User', { include: { twoFactor: true } }, { twoFactor: null }, false],
    ['nothing at all', 'User', { include: { twoFactor: true } }, null, false],
  ] as const)('shows whether %s is missing', (_what, model, args, value, torn) => {
    expect(isTorn(relations, model, args, value)).toBe(torn);
  });
});
