export { ApiPage } from './api-page';
export type { ApiPageOptions } from './markup';
