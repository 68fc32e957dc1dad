import { smallAttacks } from './small-attack.ts';

smallAttacks({ 'A-gzip': 0.1, B: 0.2, 'E-trickle': 0.4, 'O-chunks': 0.4 });
