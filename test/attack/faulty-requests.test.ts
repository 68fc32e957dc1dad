import { smallAttacks } from './small-attack.ts';

smallAttacks({ 'C-pipeline': 0.4, 'C-early-413': 0.4, 'H-method': 0.5, 'I-requests': 1, M: 1 });
