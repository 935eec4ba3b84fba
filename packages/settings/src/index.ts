export type { Listen, Tls } from './listen';
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
  type StandbyConfig,
  sharedFromFile,
  sharedSettings,
  tracesHeaders,
  tracesUrl,
  webAddress,
  wholeNumber,
} from './settings';
export { provesProxy, type TrustedProxies, trustedProxies } from './trusted-proxies';
