/**
 * Rows that name what is not built, among other things or not, and what that is: in the words of `docs/not-built.md`. Most
 * list what an interface got in one month.
 */
export const notBuilt: Readonly<Record<string, readonly string[]>> = {
  'WP.24': ['run tasks'],
  'WV.6': ['run tasks'],
  'WV.9': ['policies'],
  'WV.11': ['policy sets', 'run tasks'],
  'WV.12': ['run tasks'],
  'WV.15': ['policy sets'],
  'WV.17': ['policy sets'],
  'WV.18': ['policies', 'run tasks'],
  'WV.25': ['run tasks'],
  'WV.27': ['run tasks'],
  'WV.28': ['run tasks', 'registry of modules and providers'],
  'WV.31': ['run tasks', 'registry of modules and providers'],
};
