import { smallAttacks } from './small-attack.ts';

smallAttacks({
  'F-abrupt': 0.15,
  'F-cancel': 0.3,
  'J-large': 1,
  'J-repeated': 1,
  'J-statuses': 1,
  'J-trailers': 1,
});
