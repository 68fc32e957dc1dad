import { OWN_REPORT } from '../self-service.ts';
import { SHADOW, VERIFY } from './compared.ts';
import { DESCRIBE } from './describe.ts';
import type { OtherModes } from './modes.ts';
import { OBSERVE } from './observe.ts';

/** The rarely used modes: an isolate at the edge imports this for the first request in one of them. */
export const OTHER_MODES: OtherModes = {
  describe: DESCRIBE,
  observe: OBSERVE,
  shadow: SHADOW,
  verify: VERIFY,
  ownReport: OWN_REPORT,
};
