import { readFile } from 'node:fs/promises';

/** Where a pod finds the certificates and the token of its cluster. */
export interface OwnPod {
  readonly caFile: string;
  readonly tokenFile: string;
}

const mounted = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Where every pod has them. */
export const usualPod: OwnPod = { caFile: `${mounted}/ca.crt`, tokenFile: `${mounted}/token` };

/**
 * What to trust in a cluster, and the token to call it with. The own pod's token goes only to the own cluster, which proves itself
 * by the own pod's certificates.
 */
export async function clusterMeans(
  pod: OwnPod,
  { host, ca, token, foreign }: { host: string; ca: string; token: string; foreign: boolean },
): Promise<{ ca: string | undefined; token: string | undefined }> {
  const own = foreign || ca !== '' ? undefined : await fileText(pod.caFile);
  const ownToken = own && host.startsWith('https:') ? await fileText(pod.tokenFile) : undefined;
  return { ca: ca || own, token: token || ownToken };
}

async function fileText(file: string): Promise<string | undefined> {
  return (await readFile(file, 'utf8').catch(() => '')).trim() || undefined;
}
