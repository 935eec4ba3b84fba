import type { Resource } from '../../api/workspaces';

type Version = Resource<'RegistryModulesResource'>['attributes']['version-statuses'][number];

/** The newest published version; a deprecated one only if there is no other. */
export const newestOf = (versions: readonly Version[]): Version | undefined => {
  const published = versions.filter(({ status }) => status === 'ok');
  return published.find(({ deprecation }) => deprecation === undefined) ?? published[0];
};
