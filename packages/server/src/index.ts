export type { Logger } from 'pino';
export { Registry } from 'prom-client';
export { createApp } from './app';
export { clientAddress } from './client-address';
export { BadClientCertificate, type CertificateRules, clientCertificates } from './client-certificates';
export { type ConnectionRefusal, createServer, type Limits, type ServerOptions } from './create-server';
export { Gate, GateFull, type GatePlace } from './gate';
export type { Readiness } from './health';
export { followLog } from './log-lines';
export { createLogger } from './logger';
export { observe, type RequestMetrics } from './metrics';
export { metricsOfAll } from './metrics-of-all';
export { contentPolicy, endPage, pageGuards } from './page';
export { onStop, runMain, runProcesses } from './processes';
export {
  arrivedBody,
  atPace,
  BodyAborted,
  BodyLate,
  BodyTooLarge,
  contentCoding,
  discardBody,
  readBody,
} from './read-body';
export { requestId, sentRequestId } from './request-id';
export { labelRoute } from './route';
export { JsonTooMuch, nextTurn, scanJson, scanJsonAtOnce } from './scan-json';
export { type ServeOptions, type Serving, serve } from './serve';
export { surviveFailures } from './unhandled';
