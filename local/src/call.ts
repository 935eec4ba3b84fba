import http from 'node:http';
import https from 'node:https';
import type { ServiceConfig } from './config';

/** An answer of a service, with its parsed body if it has one. */
export interface ServiceAnswer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of two services, read by the caller
  body: any;
}

/** Calls a local service over HTTP. Rejects if it does not answer in time. */
export function call(
  service: ServiceConfig,
  method: string,
  path: string,
  options: { body?: unknown; headers?: Record<string, string>; timeoutMs?: number } = {},
): Promise<ServiceAnswer> {
  const { body, headers = {}, timeoutMs = 30_000 } = options;
  const secure = service.certificate !== undefined;
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const type =
    payload === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) };
  return new Promise((resolve, reject) => {
    const request = (secure ? https : http).request(
      `${service.address}${path}`,
      {
        method,
        headers: { ...type, ...headers },
        signal: AbortSignal.timeout(timeoutMs),
        // The certificate is for the public name of the service. Here it is enough that it is exactly the configured
        // certificate.
        ...(secure ? { ca: service.certificate, checkServerIdentity: () => undefined } : {}),
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode!, body: parse(Buffer.concat(chunks).toString()) }),
        );
      },
    );
    request.on('error', reject);
    request.end(payload);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
