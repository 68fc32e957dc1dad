import { smallAttacks } from './small-attack.ts';

smallAttacks({ '2': 0.3, '5-names': 0.1 });
