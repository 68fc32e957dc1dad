import { smallAttacks } from './small-attack.ts';

smallAttacks({ '5-names': 0.1 });
