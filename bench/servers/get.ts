import http from 'node:http';

/** An address, and what is sent with each request. */
export interface Read {
  readonly url: string;
  readonly headers: Record<string, string>;
}

/** Resolves once the address answered with 200. Without an agent, on a separate connection. */
export function get({ url, headers }: Read, agent: http.Agent | false): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { headers, agent }, (answer) => {
      answer.resume();
      answer.on('error', reject);
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve();
        else reject(new Error(`answered ${answer.statusCode}`));
      });
    });
    request.on('error', reject);
  });
}
