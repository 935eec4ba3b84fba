export {
  type Auth,
  authFields,
  type Envelope,
  envelope,
  errorBody,
  injected,
  tellingErrorBody,
  type WrapInfo,
} from './envelope';
export { decimalValue, ExactNumber, exactJson, jsonText, mayBeInexact, parseExact, plainNumbers } from './json-text';
