export { type Auth, type Envelope, envelope, injected, type WrapInfo } from './envelope';
export { errorBody } from './error-body';
