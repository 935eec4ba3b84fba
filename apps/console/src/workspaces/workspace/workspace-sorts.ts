/** How lists of workspaces can be sorted. */
export const workspaceSorts = [
  { value: '', label: 'Name' },
  { value: '-current-run.created-at', label: 'Latest run' },
  { value: '-latest-change-at', label: 'Latest change' },
];
