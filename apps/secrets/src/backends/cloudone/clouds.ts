import { Refusal } from '@keystead/refusal';

/** Where a cloud's directory and resource manager answer, and what its resource manager calls itself in tokens. */
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

/** The name used if none is given. Spec: Cloud-identity auth method configuration. */
export const defaultCloud = 'CloudonePublicCloud';

/** Every name of a cloud, as the specification spells it. */
export const cloudNames = [...clouds.keys()];

/**
 * The cloud of a name, compared without case, with the name as it is spelled in the specification. Existing clients say
 * `AzurePublicCloud` and so on for the same clouds, and find again what they said. Throws `invalid`.
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
