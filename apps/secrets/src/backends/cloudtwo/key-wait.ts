import { GetCallerIdentityCommand } from '@aws-sdk/client-sts';
import { codeOf } from '../../sdk/cloud-error';
import type { CloudTwo, Connection } from './cloud';

const firstPauseMs = 200;
const longestPauseMs = 2_000;

/** The results of tests of a new key. */
export interface KeyObserved {
  readonly key_answers: boolean;
  readonly key_waited_ms: number;
}

/**
 * Tests a new key repeatedly until the provider knows it or the time limit is reached. An answer from one server of the
 * provider says little about the others, so all results are returned. Undefined if no wait is configured.
 */
export async function waitForKey(
  cloud: CloudTwo,
  connection: Connection,
  key: { readonly accessKey: string; readonly secretKey: string },
  seconds: number,
): Promise<KeyObserved | undefined> {
  if (seconds <= 0) return undefined;
  const begunMs = performance.now();
  const leftMs = () => seconds * 1000 - (performance.now() - begunMs);
  const observed = (key_answers: boolean): KeyObserved => ({
    key_answers,
    key_waited_ms: Math.round(performance.now() - begunMs),
  });
  const credentials = { accessKeyId: key.accessKey, secretAccessKey: key.secretKey };
  return cloud.once({ ...connection, credentials, webIdentity: undefined }, async ({ sts }) => {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        const abortSignal = AbortSignal.timeout(Math.max(1, Math.ceil(leftMs())));
        await sts.send(new GetCallerIdentityCommand({}), { abortSignal });
        return observed(true);
      } catch (error) {
        // If the provider denies this call, it knows the key.
        if (/^AccessDenied/.test(codeOf(error))) return observed(true);
      }
      if (leftMs() <= pauseMs) return observed(false);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  });
}
