import type { Principals } from './principals';
import type { TokenService } from './token-service';

/** The parts of the method that outlive a call. */
export interface AwsParts {
  readonly tokenService: TokenService;
  readonly principals: Principals;
}
