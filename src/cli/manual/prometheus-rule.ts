/** Files of rules for Prometheus, in the order in which their groups are evaluated. */
export const RULE_FILES = ['deploy/prometheus/recording.yaml', 'deploy/prometheus/alerts.yaml'] as const;

/** Returns the rule files as one `PrometheusRule` of the Prometheus Operator (monitoring.coreos.com/v1); their comments are kept. */
export function prometheusRule(files: readonly string[]): string {
  const groups = files.map((text) => text.slice(text.indexOf(GROUPS) + GROUPS.length)).join('');
  return `${HEAD}${groups.replaceAll(/^(?=.)/gm, '  ')}`;
}

const GROUPS = 'groups:\n';

const HEAD = `# Generated from deploy/prometheus (npm run generate): its rules as an object of the Prometheus Operator.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: capture-gateway
spec:
  ${GROUPS}`;
