export type { Service } from './broker';
export { testCertificate } from './certificate';
export { type Clock, manualClock } from './clock';
export { DatabaseProxy, type Held } from './database-proxy';
export { emptyDatabase, freshDatabase, type TestDatabase, type TestServer, testServer } from './fresh-database';
export { type GeneratedSession, generatedSession } from './generated-client';
