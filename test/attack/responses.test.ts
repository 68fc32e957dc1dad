import { smallAttacks } from './small-attack.ts';

smallAttacks({ G: 1, 'L-framing': 1, 'L-fuzz': 0.1, 'L-hints': 0.4, 'O-response': 0.3 });
