export { type Auth, authFields, type Envelope, envelope, injected, type WrapInfo } from './envelope';
export { detailedErrorBody as tellingErrorBody, errorBody } from './error-body';
export { decimalValue, ExactNumber, exactJson, jsonText, mayBeInexact, parseExact, plainNumbers } from './json-text';
