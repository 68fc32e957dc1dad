import type { RoutedMode } from '../../rollout/modes.ts';
import type { RolloutSubject } from '../../rollout/scope.ts';

/** The routing of a V1 request; there is none while neither the rule book nor an operator has set a mode. */
export interface V1Routing {
  readonly subject: RolloutSubject;
  readonly routed: RoutedMode;
}
