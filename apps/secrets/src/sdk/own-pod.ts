import { readFile } from 'node:fs/promises';

/** Where a pod finds the certificates and the token of its cluster. */
export interface OwnPod {
  readonly caFile: string;
  readonly tokenFile: string;
}

const mounted = '/var/run/secrets/kubernetes.io/serviceaccount';
/** The usual paths in every pod. */
export const usualPod: OwnPod = { caFile: `${mounted}/ca.crt`, tokenFile: `${mounted}/token` };

/**
 * The certificates to trust in a cluster, and the token for calls. The pod's own token is only sent to its own cluster,
 * which is verified by the pod's certificates.
 */
export async function clusterMeans(
  pod: OwnPod,
  { host, ca, token, foreign }: { host: string; ca: string; token: string; foreign: boolean },
): Promise<{ ca: string | undefined; token: string | undefined }> {
  const podCa = foreign || ca !== '' ? undefined : await fileText(pod.caFile);
  const ownToken = podCa && host.startsWith('https:') ? await fileText(pod.tokenFile) : undefined;
  return { ca: ca || podCa, token: token || ownToken };
}

async function fileText(file: string): Promise<string | undefined> {
  return (await readFile(file, 'utf8').catch(() => '')).trim() || undefined;
}
