import { smallAttacks } from './small-attack.ts';

smallAttacks({ 'F-abrupt': 0.15, 'J-large': 1 });
