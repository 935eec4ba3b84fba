/** The organization-wide permissions by subject, each with what it allows a team to do. */
export const rightGroups: readonly {
  readonly about: string;
  readonly rights: readonly (readonly [string, string])[];
}[] = [
  {
    about: 'Projects and workspaces',
    rights: [
      ['read-workspaces', 'See all workspaces and their runs'],
      ['manage-workspaces', 'Create, change and delete all workspaces'],
      ['read-projects', 'See all projects'],
      ['manage-projects', 'Create, change and delete all projects'],
    ],
  },
  {
    about: 'People and teams',
    rights: [
      ['manage-membership', 'Invite and remove people'],
      ['manage-teams', 'Create, change and delete teams'],
      ['manage-organization-access', 'Change what teams may do in the organization'],
      ['access-secret-teams', 'See secret teams'],
    ],
  },
  {
    about: 'Connections',
    rights: [
      ['manage-vcs-settings', 'Manage connections to version control, and SSH keys'],
      ['manage-agent-pools', 'Manage agent pools'],
    ],
  },
  {
    about: 'Policies and run tasks',
    rights: [
      ['manage-policies', 'Manage policies'],
      ['manage-policy-overrides', 'Override failed policies'],
      ['delegate-policy-overrides', 'Let others override failed policies'],
      ['manage-run-tasks', 'Manage run tasks'],
    ],
  },
  {
    about: 'Registry',
    rights: [
      ['manage-modules', 'Manage modules'],
      ['manage-providers', 'Manage providers'],
      ['manage-public-modules', 'Manage public modules'],
      ['manage-public-providers', 'Manage public providers'],
    ],
  },
];

const implied: readonly (readonly [string, readonly string[]])[] = [
  ['manage-organization-access', ['manage-teams', 'manage-membership']],
  ['manage-teams', ['manage-membership']],
  ['manage-projects', ['manage-workspaces', 'read-projects', 'read-workspaces']],
  ['manage-workspaces', ['read-workspaces']],
  ['read-projects', ['read-workspaces']],
];

/** The permission of a team that includes the given permission; undefined if there is none. */
export function givenBy(right: string, has: (right: string) => boolean): string | undefined {
  return implied.find(([from, rights]) => rights.includes(right) && has(from))?.[0];
}
