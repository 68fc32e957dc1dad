import { smallAttacks } from './small-attack.ts';

smallAttacks({
  'A-gzip': 0.1,
  B: 0.2,
  'D-entry': 1,
  'D-explain': 1,
  'E-trickle': 0.4,
  '3-trickle': 1,
  'O-chunks': 0.4,
});
