import { describe, expect, it } from '@jest/globals';
import {
  dialMask,
  dialValue,
  namesOf,
  projectDials,
  projectGrant,
  projectLevelSettings,
  projectLevels,
  projectLevelWorkspaceSettings,
  projectWorkspaceDials,
  workspaceAdmin,
  workspaceDials,
  workspaceGrant,
  workspaceLevelSettings,
  workspaceLevels,
} from './capabilities';

describe('grants as masks', () => {
  it.each(
    Object.entries({ ...workspaceDials, ...projectDials, ...projectWorkspaceDials }).flatMap(([name, dial]) =>
      dial.values.map((value) => [name, String(value), dial, value] as const),
    ),
  )('%s turned to %s is read back from its mask', (_name, _text, dial, value) => {
    expect(dialValue(dial, dialMask(dial, value))).toBe(value);
  });

  it.each(workspaceLevels)('a workspace grant at %s shows the settings of its level', (level) => {
    const mask = workspaceGrant(level);
    for (const [name, dial] of Object.entries(workspaceDials)) {
      expect([name, dialValue(dial, mask)]).toEqual([name, workspaceLevelSettings[level][name as 'runs']]);
    }
  });

  it.each(projectLevels.filter((level) => level !== 'maintain' && level !== 'admin'))(
    'a project grant at %s shows the settings of its level',
    (level) => {
      const mask = projectGrant(level);
      for (const [name, dial] of Object.entries(projectDials)) {
        expect([name, dialValue(dial, mask)]).toEqual([name, projectLevelSettings[level][name as 'teams']]);
      }
      for (const [name, dial] of Object.entries(projectWorkspaceDials)) {
        expect([name, dialValue(dial, mask)]).toEqual([name, projectLevelWorkspaceSettings[level][name as 'runs']]);
      }
    },
  );

  it('maintain and admin on a project administer every workspace of it, custom never does', () => {
    expect(projectGrant('maintain') & workspaceAdmin).toBe(workspaceAdmin);
    expect(projectGrant('admin') & workspaceAdmin).toBe(workspaceAdmin);
    const most = {
      runs: 'apply',
      variables: 'write',
      stateVersions: 'write',
      polengineMocks: 'read',
      workspaceLocking: true,
      runTasks: true,
      policyOverrides: true,
    };
    expect(namesOf(workspaceGrant('custom', most))).not.toContain('settings:write');
  });

  it('maintain creates and deletes workspaces, but neither moves them nor changes the project', () => {
    const names = namesOf(projectGrant('maintain'));
    expect(names).toEqual(expect.arrayContaining(['workspaces:create', 'delete', 'project:read']));
    expect(names).not.toContain('workspaces:move');
    expect(names).not.toContain('project:update');
    expect(names).not.toContain('teams:read');
  });
});
