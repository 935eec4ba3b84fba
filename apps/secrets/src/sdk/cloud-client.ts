import { PassThrough, pipeline, type Readable } from 'node:stream';
import type { IAMClient } from '@aws-sdk/client-iam';
import type { STSClient } from '@aws-sdk/client-sts';
import { Unreachable, usualReach } from '@keystead/outside';
import { Refusal } from '@keystead/refusal';
import { codeOf } from './cloud-error';
import { Circuit, type OutsideParts, Throttle } from './outside';

type Headers = Readonly<Record<string, string | undefined>>;
type Send = (command: object, options?: object) => Promise<unknown>;
interface Handler {
  handle(request: unknown, options: unknown): Promise<{ response: { body?: unknown; headers?: Headers } }>;
}

/** The longest accepted answer. Answers of the identity API and the token service are far shorter. */
const answerLimitBytes = 8 * 1024 * 1024;

/**
 * The connections of a provider client to endpoints from a mount's configuration. Throws `upstream` for an endpoint
 * that must not be called; names are checked when they are resolved.
 */
export function agentsTo(endpoints: readonly string[], options: { keepAlive: boolean; maxSockets: number }) {
  for (const endpoint of endpoints.filter((one) => URL.canParse(one))) {
    try {
      usualReach.toward(new URL(endpoint).hostname);
    } catch (error) {
      throw new Unreachable(`the cloud provider cannot be reached: ${(error as Error).message}`, error);
    }
  }
  const agent = { ...options, lookup: usualReach.lookup };
  return { httpAgent: agent, httpsAgent: agent };
}

/**
 * Sets limits on a provider client: a call with all its retries ends after `timeoutMs`, no answer grows beyond 8 MiB,
 * and a service that does not answer is not called for a while. The fault points before and after each call have names
 * that begin with `faults` (`cloudtwo:CreateUser`, `cloudtwo:CreateUser:done`). Returns the circuit, and how far the
 * provider's clock was ahead of ours when it last answered.
 */
export function guard(
  client: IAMClient | STSClient,
  who: string,
  { parts, timeoutMs, faults }: { parts: OutsideParts; timeoutMs: number; faults: string },
): { readonly circuit: Circuit; aheadMs(): number | undefined } {
  let aheadMs: number | undefined;
  const circuit = new Circuit(who, parts.clock);
  const send = client.send.bind(client) as Send;
  const throttle = new Throttle();
  const guarded: Send = async (command, options) => {
    const name = command.constructor.name.replace(/Command$/, '');
    await throttle.take();
    await parts.fault(`${faults}:${name}`);
    const answer = await circuit.run(
      () => send(command, { abortSignal: AbortSignal.timeout(timeoutMs), ...options }),
      unanswered,
    );
    await parts.fault(`${faults}:${name}:done`);
    return answer;
  };
  Object.assign(client, { send: guarded });
  const handler = client.config.requestHandler as unknown as Handler;
  const handle = handler.handle.bind(handler);
  handler.handle = async (request, options) => {
    const answer = await handle(request, options);
    const answerDateMs = Date.parse(answer.response.headers?.date ?? '');
    if (!Number.isNaN(answerDateMs)) aheadMs = answerDateMs - parts.clock.now();
    await throttle.take();
    answer.response.body = limited(answer.response.body as Readable);
    return answer;
  };
  return { circuit, aheadMs: () => aheadMs };
}

function limited(body: Readable): Readable {
  const through = new PassThrough();
  let size = 0;
  body.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > answerLimitBytes) body.destroy(new Error('the answer is too large'));
  });
  // The code that reads the answer reports its errors.
  pipeline(body, through, () => {});
  return through;
}

/** The reason why there was no response; undefined if there was one, or if the call was never sent. */
function unanswered(error: unknown): string | undefined {
  const { name, code } = error as NodeJS.ErrnoException;
  // Refusals come from steps before the call, so they are not treated as failures of this provider service.
  if (codeOf(error) !== '' || name === 'CredentialsProviderError' || error instanceof Refusal) return undefined;
  return name === 'AbortError' || name === 'TimeoutError' ? 'no answer in time' : (code ?? name);
}
