import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { testCertificate } from '../../testing/src/certificate';
import { listenOn, urlOf } from './listen';
import { observe, observeProcess } from './metrics';
import { createMetricsServer } from './metrics-server';
import { contentPolicy } from './page';
import { labelRoute } from './route';

function requestWith(label?: string): IncomingMessage {
  const req = {} as IncomingMessage;
  if (label !== undefined) labelRoute(req, label);
  return req;
}

describe('the metrics of requests', () => {
  it('are counts by route and status, and times in buckets', async () => {
    const registry = new Registry();
    const metrics = observe(registry);
    for (const [status, seconds] of [
      [200, 0.0005],
      [200, 0.001],
      [404, 0.3],
      [200, 11],
    ] as const) {
      metrics.begin();
      metrics.end(requestWith('/a'), status, seconds);
    }
    metrics.begin();
    const text = await registry.metrics();
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    const below = [2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3];
    const limits = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
    expect(lines).toEqual([
      'http_requests_total{route="/a",status="200"} 3',
      'http_requests_total{route="/a",status="404"} 1',
      'http_requests_in_flight 1',
      ...limits.map((le, i) => `http_request_duration_seconds_bucket{le="${le}",route="/a"} ${below[i]}`),
      'http_request_duration_seconds_bucket{le="+Inf",route="/a"} 4',
      'http_request_duration_seconds_sum{route="/a"} 11.3015',
      'http_request_duration_seconds_count{route="/a"} 4',
    ]);
    expect(text).toContain('# HELP http_requests_total Requests answered.\n# TYPE http_requests_total counter');
    expect(text).toContain(
      '# HELP http_requests_in_flight Requests being answered now.\n# TYPE http_requests_in_flight gauge',
    );
    expect(text).toContain(
      '# HELP http_request_duration_seconds Time to answer, body included.\n# TYPE http_request_duration_seconds histogram',
    );
    const { aggregator } = registry.getSingleMetric('http_requests_total') as unknown as { aggregator: string };
    expect(aggregator).toBe('sum');
    expect((await registry.getMetricsAsJSON()).map((metric) => (metric as { aggregator?: string }).aggregator)).toEqual(
      ['sum', 'sum', 'sum'],
    );
    registry.resetMetrics();
    expect(await registry.metrics()).toBe(text);
  });

  it('distinguish five hundred routes, and count all others together', async () => {
    const registry = new Registry();
    const metrics = observe(registry);
    for (let route = 0; route < 502; route++) metrics.end(requestWith(`/${route}`), 200, 1);
    metrics.end(requestWith('/7'), 200, 1);
    metrics.end(requestWith(), 200, 1);
    const { values } = await registry.getSingleMetric('http_requests_total')!.get();
    expect(values).toHaveLength(501);
    expect(values.find(({ labels }) => labels.route === '/7')?.value).toBe(2);
    expect(values.find(({ labels }) => labels.route === 'other')?.value).toBe(3);
    expect(values.some(({ labels }) => labels.route === '/500')).toBe(false);
  });

  it('include the metrics of the process, once', async () => {
    const registry = new Registry();
    observeProcess(registry);
    observeProcess(registry);
    expect(await registry.metrics()).toContain('process_cpu_seconds_total');
  });
});

describe('the server of metrics', () => {
  let broken = false;
  const metrics = async () => {
    if (broken) throw new Error('broken');
    return 'é 1\n';
  };
  const server = createMetricsServer({ contentType: 'text/own', metrics }, undefined);
  let url: string;
  beforeAll(async () => {
    url = `http://127.0.0.1:${await listenOn(server, { host: '127.0.0.1', port: 0 })}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const ask = async (path: string, method = 'GET') => {
    const answer = await fetch(url + path, { method });
    return [
      answer.status,
      answer.headers.get('content-type'),
      answer.headers.get('content-length'),
      await answer.text(),
    ];
  };

  it('serves metrics, and nothing else', async () => {
    expect(await ask('/metrics')).toEqual([200, 'text/own', '5', 'é 1\n']);
    expect(await ask('/metrics?x=1')).toEqual([200, 'text/own', '5', 'é 1\n']);
    expect(await ask('/metrics', 'HEAD')).toEqual([200, 'text/own', '5', '']);
    for (const [path, method] of [
      ['/', 'GET'],
      ['/metrics/', 'GET'],
      ['/metrics', 'POST'],
      ['/other', 'HEAD'],
    ]) {
      expect((await ask(path!, method))[0]).toBe(404);
    }
    broken = true;
    expect((await ask('/metrics'))[0]).toBe(500);
  });

  it.each([
    ['TLSv1.2', undefined, '200'],
    ['TLSv1.1', 'DEFAULT@SECLEVEL=0', 'refused'],
  ] as const)('serves them over %s, with or without a certificate', async (version, ciphers, expected) => {
    const fixed = { contentType: 'text/own', metrics: async () => 'a 1' };
    const secure = createMetricsServer(fixed, testCertificate);
    const port = await listenOn(secure, { host: '127.0.0.1', port: 0 });
    const body = await new Promise((resolve) => {
      const options = { port, host: '127.0.0.1', path: '/metrics', ca: testCertificate.cert, agent: false as const };
      https
        .get({ ...options, maxVersion: version, minVersion: 'TLSv1', ciphers }, (res) => {
          res.resume().on('end', () => resolve(String(res.statusCode)));
        })
        .on('error', () => resolve('refused'));
    });
    expect(body).toBe(expected);
    secure.close();
    secure.closeAllConnections();
  });
});

it.each([
  ['127.0.0.1', undefined, 'http://127.0.0.1:80'],
  ['0.0.0.0', undefined, 'http://127.0.0.1:80'],
  ['::', undefined, 'http://[::1]:80'],
  ['fd00::1', undefined, 'http://[fd00::1]:80'],
  ['a.test', { key: '', cert: '' }, 'https://a.test:80'],
])('a listener on %s is reached at %s %s', (host, tls, url) => {
  expect(urlOf({ host, port: 0, ...(tls && { tls }) }, 80)).toBe(url);
});

it('a second listener on a port is refused', async () => {
  const [one, other] = [http.createServer(), http.createServer()];
  const port = await listenOn(one, { host: '127.0.0.1', port: 0 });
  expect(port).toBeGreaterThan(0);
  expect(one.listenerCount('error')).toBe(0);
  await expect(listenOn(other, { host: '127.0.0.1', port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  one.close();
});

it('the policy of a page lets it load only from its own site, and from declared sources', () => {
  const strict =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'";
  expect(contentPolicy()).toBe(strict);
  expect(contentPolicy({ 'form-action': "'self'", 'font-src': "'self'" })).toBe(
    `${strict.replace("form-action 'none'", "form-action 'self'")}; font-src 'self'`,
  );
});
