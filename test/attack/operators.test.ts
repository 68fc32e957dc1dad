import { smallAttacks } from './small-attack.ts';

smallAttacks({ 'K-body': 0.5, 'K-tries': 0.3, 'O-files': 1 });
