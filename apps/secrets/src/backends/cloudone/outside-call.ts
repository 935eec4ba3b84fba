import { Refusal } from '@keystead/refusal';

const answerLimitBytes = 4 * 1024 * 1024;

/** An answer of an outside system: its status, and its body where that is JSON. */
export interface Answer {
  readonly status: number;
  readonly json: unknown;
  readonly retryAfterSeconds: number;
}

/**
 * One HTTP call to an outside system, without redirects and with a limit of time and size. Throws `upstream` naming
 * `who` when nothing usable comes back; every status is an answer.
 */
export async function outsideCall(
  who: string,
  url: string,
  init: RequestInit = {},
  timeoutMs = 10_000,
): Promise<Answer> {
  try {
    const response = await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) });
    const text = await limitedText(response);
    return {
      status: response.status,
      json: parse(text),
      retryAfterSeconds: Number(response.headers.get('retry-after')) || 0,
    };
  } catch (error) {
    const failed = error as Error & { cause?: NodeJS.ErrnoException };
    const reason = failed.name === 'TimeoutError' ? 'no answer in time' : (failed.cause?.code ?? failed.message);
    throw new Refusal('upstream', `${who} is unreachable: ${reason}`, [], { cause: error });
  }
}

async function limitedText(response: Response): Promise<string> {
  if (!response.body) return '';
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > answerLimitBytes) throw new Error('the answer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
