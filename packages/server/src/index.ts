export type { Logger } from 'pino';
export { Registry } from 'prom-client';
export { createApp } from './app';
export { clientAddress, type TrustedProxies, trustedProxies } from './client-address';
export { BadClientCertificate, type CertificateRules, clientCertificates } from './client-certificates';
export { type ConnectionRefusal, createServer, type Limits, type ServerOptions } from './create-server';
export { Gate, GateFull } from './gate';
export type { Readiness } from './health';
export type { Listen, Tls } from './listen';
export { followLog } from './log-lines';
export { createLogger } from './logger';
export { observe, type RequestMetrics } from './metrics';
export { metricsOfAll } from './metrics-of-all';
export { contentPolicy, endPage, pageGuards } from './page';
export { onStop, runProcesses } from './processes';
export { atPace, BodyAborted, BodyLate, BodyTooLarge, discardBody, readBody } from './read-body';
export { requestId } from './request-id';
export { labelRoute } from './route';
export { JsonTooMuch, nextTurn, scanJson } from './scan-json';
export { type ServeOptions, type Serving, serve } from './serve';
export {
  BadConfig,
  describeSettings,
  entriesOf,
  logLevel,
  onOff,
  parsed,
  readSettingFile,
  readSettings,
  readShared,
  sharedFromFile,
  sharedSettings,
  webAddress,
  wholeNumber,
} from './settings';
