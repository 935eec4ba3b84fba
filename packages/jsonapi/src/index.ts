export * from './attributes';
export * from './errors';
export * from './input';
export * from './large-text';
export * from './paging';
export * from './query';
export * from './relations';
export * from './serializer';
