import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import express from 'express';
import request from 'supertest';
import { createApp } from './app';
import { createServer } from './create-server';

function appWithRoute() {
  const app = createApp();
  const router = express.Router();
  router.get('/things/:id', (req, res) => {
    res.json({
      id: req.params.id,
      host: req.hostname,
      base: req.baseUrl,
      app: req.app === app,
      query: req.query,
      mirror: res.app === app,
    });
  });
  app.use('/api', router);
  return app;
}

describe('an application at native speed', () => {
  it('routes and answers like any Express application', async () => {
    const response = await request(createServer(appWithRoute())).get('/api/things/7?x=1').expect(200);
    expect(response.body).toEqual({ id: '7', host: '127.0.0.1', base: '/api', app: true, query: {}, mirror: true });
  });

  it('also works behind a server that does not use its classes', async () => {
    const response = await request(http.createServer(appWithRoute())).get('/api/things/8').expect(200);
    expect(response.body).toMatchObject({ id: '8', app: true });
  });

  it('does not mention Express, and sends no etag', async () => {
    const { headers } = await request(createServer(appWithRoute())).get('/api/things/7').expect(200);
    expect(headers).not.toHaveProperty('x-powered-by');
    expect(headers).not.toHaveProperty('etag');
  });

  it('does not change the prototypes of its messages', async () => {
    const app = createApp();
    const inHandler: object[] = [];
    app.use((req, res) => {
      inHandler.push(Object.getPrototypeOf(req), Object.getPrototypeOf(res));
      res.end();
    });
    const built: object[] = [];
    const server = createServer(app, {}, (req, res) => {
      built.push(Object.getPrototypeOf(req), Object.getPrototypeOf(res));
      app(req as express.Request, res as express.Response);
    });
    await request(server).get('/').expect(200);
    expect(inHandler).toHaveLength(2);
    expect(inHandler[0]).toBe(built[0]);
    expect(inHandler[1]).toBe(built[1]);
  });

  it('keeps two applications apart', async () => {
    const [one, two] = [createApp(), createApp()];
    for (const [app, name] of [
      [one, 'one'],
      [two, 'two'],
    ] as const) {
      app.locals.name = name;
      app.get('/', (req, res) => void res.send(req.app.locals.name));
    }
    expect((await request(createServer(one)).get('/')).text).toBe('one');
    expect((await request(createServer(two)).get('/')).text).toBe('two');
  });

  it('mounts another application below a path', async () => {
    const [outer, inner] = [createApp(), createApp()];
    inner.get('/x', (req, res) => void res.json({ base: req.baseUrl, inner: req.app === inner }));
    outer.use('/in', inner);
    outer.get('/out', (req, res) => void res.json({ outer: req.app === outer }));
    const server = createServer(outer).listen(0);
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      expect((await request(url).get('/in/x')).body).toEqual({ base: '/in', inner: true });
      expect((await request(url).get('/out')).body).toEqual({ outer: true });
    } finally {
      server.close();
    }
  });
});
