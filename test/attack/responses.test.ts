import { smallAttacks } from './small-attack.ts';

smallAttacks({ 'L-fuzz': 0.1 });
