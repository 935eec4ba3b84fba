export { addColumns } from './add-columns';
export type { Service } from './broker';
export { findBrowser, type Visit, visit } from './browser';
export { testCertificate } from './certificate';
export { type Clock, manualClock } from './clock';
export { type Away, DatabaseProxy, type Held } from './database-proxy';
export { FailingParty, failings } from './failing-party';
export { type FieldSchema, valuesOf, wrongValueOf } from './field-values';
export { findProgram } from './find-program';
export { freePort } from './free-port';
export {
  asSuperuser,
  emptyDatabase,
  freshDatabase,
  type TestDatabase,
  type TestServer,
  testServer,
} from './fresh-database';
export { fromSource } from './from-source';
export { briefly, type Document as ApiDocument, type Operation as ApiOperation, Operations } from './fuzz/operations';
export type { Example as FuzzExample } from './fuzz/program';
export { asker, type FuzzSubject, withstandsMadeUpRequests } from './fuzz/withstands';
export { type GeneratedSession, generatedSession } from './generated-client';
export { generatorFaults } from './generated-names';
export { heapFlags, keptInHeap } from './heap';
export { keptConnections, urlOf } from './kept-connections';
export { Keycloak, keycloakAt, samlClient } from './keycloak';
export { type Flow, flowsOf, KillsAtSteps } from './kills-at-steps';
export { hasKubeApiServer, KubeApiServer } from './kube-api-server';
export { isLinearizable, type Model, type Recorded } from './linearizable';
export {
  call,
  document,
  fightForLock,
  type LockAnswer,
  type LockCall,
  type LockClient,
  lockClients,
  lockModel,
  smallState,
} from './lock-clients';
export { Mistakes } from './mistakes';
export { propertySettings } from './property-settings';
export {
  generatedPythonSession,
  noPython,
  operationsIn,
  type Python,
  pythonGenerator,
  pythonWith,
} from './python';
export { type Replicated, startReplicated } from './replicated';
export { slice } from './slice';
export { type Lie, SoftwareAuthenticator } from './software-authenticator';
export { type ReceivedSpan, type SpanReceiver, spanReceiver } from './span-receiver';
export { startVictim, type Victim } from './victim';
export { zipOf } from './zip';
