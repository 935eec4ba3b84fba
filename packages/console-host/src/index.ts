export {
  ConsoleHost,
  type ConsoleHostOptions,
  codeRequired,
  type From,
  type NewSession,
  type Sessions,
  type SessionView,
} from './console-host';
export { isOwnPage } from './same-origin';
