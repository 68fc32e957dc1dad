import { smallAttacks } from './small-attack.ts';

smallAttacks({ 'K-body': 1, 'K-tries': 0.5, 'N-census': 1, 'N-guide': 1, 'O-files': 1 });
