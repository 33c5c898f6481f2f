// Writes the table of alerts of docs/operations/incidents.md from the rules of Prometheus.

import { parse } from "yaml";
import { z } from "zod";
import { headingId } from "./markdown.ts";
import { table } from "./markdown-text.ts";
import { readSource } from "./source-files.ts";

const RULES_FILES = ["ops/prometheus/ringback.rules.yml", "ops/prometheus/database.rules.yml"];

const rulesFile = z.object({
	groups: z.array(
		z.object({
			rules: z.array(
				z.object({
					alert: z.string(),
					labels: z.object({ severity: z.enum(["page", "ticket"]) }),
					annotations: z.object({ summary: z.string() }),
				}),
			),
		}),
	),
});

export function alertsTable(): string {
	const rules = RULES_FILES.flatMap((file) =>
		rulesFile.parse(parse(readSource(file))).groups.flatMap((group) => group.rules),
	);
	return table(
		["alert", "severity", "says"],
		rules.map(({ alert, labels, annotations }) => [
			`[${alert}](#${headingId(alert)})`,
			labels.severity,
			// Prometheus fills in values and names, such as {{ $value | humanizeDuration }}.
			annotations.summary.replaceAll(/\{\{.*?\}\}/g, "…"),
		]),
	);
}
