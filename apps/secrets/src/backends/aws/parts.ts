import type { Principals } from './principals';
import type { TokenService } from './token-service';

/** The objects of the method that exist longer than a call. */
export interface AwsParts {
  readonly tokenService: TokenService;
  readonly principals: Principals;
}
