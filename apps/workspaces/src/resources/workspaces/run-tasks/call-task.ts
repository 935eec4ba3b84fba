import { createHmac } from 'node:crypto';
import { invalid } from '@keystead/jsonapi';
import { ClosedAddress, outsideCall, type Reach } from '@keystead/outside';

const timeoutMs = 10_000;
const mostBytes = 64 * 1024;

/** The result of a request to a task: undefined if the service has accepted it, otherwise the reason why it has not. */
export async function callTask(
  reach: Reach,
  { url, key }: { readonly url: string; readonly key: string | undefined },
  body: object,
): Promise<string | undefined> {
  const content = Buffer.from(JSON.stringify(body));
  const headers = key && { 'X-TFC-Task-Signature': createHmac('sha512', key).update(content).digest('hex') };
  const request = { method: 'POST', bytes: { type: 'application/json', content }, reach, mostBytes } as const;
  try {
    const { status } = await outsideCall(
      'the service of the task',
      url,
      { ...request, ...(headers && { headers }) },
      timeoutMs,
    );
    return status >= 200 && status < 300 ? undefined : `it answered ${status}`;
  } catch (error) {
    if ([error, (error as Error).cause].some((one) => one instanceof ClosedAddress)) {
      return 'its address is in a network that may not be called (see WORKSPACES_NOTIFICATION_NETWORKS)';
    }
    return (error as Error).message;
  }
}

/**
 * Sends a test request, without a run, when a task is created or moved. Throws `invalid` if the service does not accept
 * it.
 */
export async function requireTaken(reach: Reach, to: { url: string; key: string | undefined }): Promise<void> {
  const body = { payload_version: 1, stage: 'test', access_token: 'test-token', is_speculative: true };
  const problem = await callTask(reach, to, body);
  if (problem !== undefined) throw invalid('url', `did not accept a test request: ${problem}`);
}
