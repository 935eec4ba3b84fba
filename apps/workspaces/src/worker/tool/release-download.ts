import http from 'node:http';
import https from 'node:https';
import type { Reach } from '@keystead/outside';

const mostRedirects = 5;
/** How long a server may send nothing before a download fails. */
const silenceMs = 30_000;

/** The limits of a download. */
export interface DownloadLimits {
  readonly reach: Reach;
  readonly bytes: number;
  readonly milliseconds: number;
}

/** A failed download. The message says what failed and why. */
export class NoDownload extends Error {
  override readonly name = 'NoDownload';
}

/**
 * Downloads a file piece by piece. Redirects are followed only to allowed addresses, and never from https to http.
 * Throws `NoDownload` for any status other than 200, for a download that is cut off, and beyond the limits of time or
 * size.
 */
export async function* download(address: URL, limits: DownloadLimits): AsyncGenerator<Buffer> {
  const end = AbortSignal.timeout(limits.milliseconds);
  try {
    const answer = await follow(address, limits.reach, end);
    let size = 0;
    for await (const piece of answer) {
      size += (piece as Buffer).length;
      if (size > limits.bytes) throw new NoDownload(`${address.href} is larger than ${limits.bytes} bytes`);
      yield piece as Buffer;
    }
    const announced = Number(answer.headers['content-length'] ?? size);
    if (announced !== size || !answer.complete) throw new NoDownload(`${address.href} was cut off after ${size} bytes`);
  } catch (error) {
    if (error instanceof NoDownload) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = end.aborted ? 'it took too long' : code === 'ECONNRESET' ? 'it was cut off' : message;
    throw new NoDownload(`${address.href} could not be downloaded: ${reason}`, { cause: error });
  }
}

async function follow(first: URL, reach: Reach, signal: AbortSignal): Promise<http.IncomingMessage> {
  let at = first;
  for (let redirects = 0; redirects <= mostRedirects; redirects++) {
    const answer = await ask(at, reach, signal);
    const { statusCode = 0, headers } = answer;
    if (statusCode === 200) return answer;
    answer.destroy();
    if (statusCode < 300 || statusCode > 399 || headers.location === undefined) {
      throw new NoDownload(`${at.href} answered ${statusCode}`);
    }
    const next = URL.parse(headers.location, at.href);
    const mayFollow = next?.protocol === 'https:' || (next?.protocol === 'http:' && at.protocol === 'http:');
    if (!next || !mayFollow || next.username !== '')
      throw new NoDownload(`${at.href} redirects to an address that is not allowed`);
    at = next;
  }
  throw new NoDownload(`${first.href} redirects too often`);
}

async function ask(address: URL, reach: Reach, signal: AbortSignal): Promise<http.IncomingMessage> {
  const options = { ...reach.toward(address.hostname), signal, timeout: silenceMs, agent: false as const };
  const { get } = address.protocol === 'https:' ? https : http;
  return new Promise((resolve, reject) => {
    const request = get(address, options, resolve);
    request.on('timeout', () => request.destroy(new Error('it sent no data')));
    request.on('error', reject);
  });
}
