import { Refusal } from '@keystead/refusal';

/** The addresses of a cloud's directory and resource manager, and the audience for the resource manager. */
export interface CloudHosts {
  readonly authority: string;
  readonly resourceManager: string;
  readonly audience: string;
}

const clouds: ReadonlyMap<string, CloudHosts> = new Map(
  Object.entries({
    CloudonePublicCloud: {
      authority: 'https://login.microsoftonline.com',
      resourceManager: 'https://management.azure.com',
      audience: 'https://management.azure.com',
    },
    CloudoneUSGovernmentCloud: {
      authority: 'https://login.microsoftonline.us',
      resourceManager: 'https://management.usgovcloudapi.net',
      audience: 'https://management.usgovcloudapi.net',
    },
    CloudoneChinaCloud: {
      authority: 'https://login.chinacloudapi.cn',
      resourceManager: 'https://management.chinacloudapi.cn',
      audience: 'https://management.chinacloudapi.cn',
    },
    CloudoneGermanCloud: {
      authority: 'https://login.microsoftonline.de',
      resourceManager: 'https://management.microsoftazure.de',
      audience: 'https://management.microsoftazure.de',
    },
  }),
);

/** The name of the cloud if a configuration contains none. Spec: Cloud-identity auth method configuration. */
export const defaultCloud = 'CloudonePublicCloud';

/** Every name of a cloud, as the specification spells it. */
export const cloudNames = [...clouds.keys()];

/**
 * Finds a cloud by name, ignoring case. The returned name is spelled as in the specification. Existing clients use
 * `AzurePublicCloud` and similar names for the same clouds. They get the name back that they wrote. Throws `invalid`.
 */
export function cloudNamed(name: string): { name: string; hosts: CloudHosts } {
  const ownName = name.toLowerCase().replace(/^azure/, 'cloudone');
  const found = [...clouds.keys()].find((cloud) => cloud.toLowerCase() === ownName);
  if (found) {
    const isForeignName = name.toLowerCase() !== ownName;
    return { name: isForeignName ? found.replace('Cloudone', 'Azure') : found, hosts: clouds.get(found)! };
  }
  throw new Refusal('invalid', `no cloud configuration matching the name ${JSON.stringify(name.toUpperCase())}`);
}
