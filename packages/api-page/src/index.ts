export { ApiPage, type ApiPageOptions } from './api-page';
