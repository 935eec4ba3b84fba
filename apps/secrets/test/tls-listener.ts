import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { createServer } from '@keystead/server';
import { testCertificate } from '@keystead/testing';
import type { Express } from 'express';
import { rescueList } from '../src/http/list-verb';

/** A client certificate with its key; others may follow it in `pem`. */
export interface Shown {
  readonly pem: string;
  readonly keyPem: string;
}

/** The request, if it differs from an empty POST without a certificate. */
export interface TlsRequest {
  readonly method?: string;
  readonly body?: object;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

// biome-ignore lint/suspicious/noExplicitAny: the body of an answer is looked at only by tests.
export type TlsAnswer = { status: number; body: any; resumed: boolean };

/** The service behind TLS, asking its clients for certificates. */
export class TlsListener {
  private server: https.Server | undefined;

  async start(app: Express): Promise<void> {
    const server = createServer(app, { tls: { ...testCertificate, clientCertificates: true } }) as https.Server;
    rescueList(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.server = server;
  }

  async stop(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise((resolve) => this.server?.close(resolve));
  }

  get port(): number {
    return (this.server!.address() as AddressInfo).port;
  }

  /** Sends one request on a new connection, or on one that the agent keeps. */
  send(path: string, shown: Shown | undefined, request: TlsRequest = {}, agent?: https.Agent): Promise<TlsAnswer> {
    const { method = 'POST', body = {}, token, headers } = request;
    return new Promise((resolve, reject) => {
      const call = https.request(
        {
          port: this.port,
          host: '127.0.0.1',
          path: `/v1/${path}`,
          method,
          agent: agent ?? false,
          ca: testCertificate.cert,
          // Hostile clients may send certificates that others would not.
          ciphers: 'DEFAULT:@SECLEVEL=0',
          ...(shown ? { cert: shown.pem, key: shown.keyPem } : {}),
          headers: { ...(token === undefined ? {} : { 'x-service-token': token }), ...headers },
        },
        (answer) => {
          const resumed = (call.socket as unknown as { isSessionReused(): boolean }).isSessionReused();
          let text = '';
          answer.setEncoding('utf8').on('data', (part) => {
            text += part;
          });
          answer.on('end', () => {
            resolve({ status: answer.statusCode!, body: text === '' ? undefined : JSON.parse(text), resumed });
          });
        },
      );
      call.on('error', reject);
      call.end(method === 'GET' ? undefined : JSON.stringify(body));
    });
  }
}
