import { smallAttacks } from './small-attack.ts';

smallAttacks({ 'H-method': 0.5 });
