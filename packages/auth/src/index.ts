export { readBearer } from './bearer';
export { equalSecrets } from './compare';
export { type JwtCheck, verifyJwt } from './jwt';
export { mintToken, randomBase62, randomId } from './mint';
