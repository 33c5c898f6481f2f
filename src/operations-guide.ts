// Parts of the operations guide, for people who run the service. Staff read them as pages below /docs/operations, and
// `ringback guide` prints them, so that the executable alone is enough.

import { readShippedFile } from "./shipped-files.ts";

/** Parts in reading order. `file` is the path in the repository. */
export const GUIDE_PARTS = [
	{ name: "install", label: "Install", file: "docs/operations/install.md" },
	{ name: "first-hour", label: "The first hour", file: "docs/operations/first-hour.md" },
	{ name: "proxy", label: "Behind a proxy", file: "docs/operations/proxy.md" },
	{ name: "postgresql", label: "PostgreSQL", file: "docs/operations/postgresql.md" },
	{ name: "move", label: "Move to PostgreSQL", file: "docs/operations/move.md" },
	{ name: "failover", label: "PostgreSQL failover", file: "docs/operations/failover.md" },
	{ name: "upgrade", label: "Upgrade and restart", file: "docs/operations/upgrade.md" },
	{ name: "backups", label: "Backups", file: "docs/operations/backups.md" },
	{
		name: "postgresql-backups",
		label: "Backups of PostgreSQL",
		file: "docs/operations/postgresql-backups.md",
	},
	{ name: "after-restore", label: "After a restore", file: "docs/operations/after-restore.md" },
	{ name: "callbacks", label: "Hold and resend callbacks", file: "docs/operations/callbacks.md" },
	{ name: "sealing-key", label: "The sealing key", file: "docs/operations/sealing-key.md" },
	{ name: "watching", label: "Watching", file: "docs/operations/watching.md" },
	{ name: "metrics", label: "Metrics", file: "docs/operations/metrics.md" },
	{ name: "incidents", label: "Incidents", file: "docs/operations/incidents.md" },
	{ name: "people", label: "People and access", file: "docs/operations/people.md" },
	{ name: "company-sign-in", label: "Company sign-in", file: "docs/operations/company-sign-in.md" },
	{ name: "personal-data", label: "Personal data", file: "docs/operations/personal-data.md" },
	{ name: "payouts", label: "Paying partners", file: "docs/operations/payouts.md" },
	{ name: "import", label: "Import", file: "docs/operations/import.md" },
	{ name: "sizing", label: "Sizing", file: "docs/operations/sizing.md" },
	{ name: "limits", label: "Limits and retention", file: "docs/operations/limits.md" },
	{ name: "settings", label: "Every setting", file: "docs/operations/settings.md" },
] as const;

export type GuidePart = (typeof GUIDE_PARTS)[number];

export const GUIDE_START = { name: "", label: "Operations guide", file: "docs/operations.md" } as const;

export type GuideFile = GuidePart | typeof GUIDE_START;

/** Files that the guide refers to: alert rules, a dashboard, and configuration of other programs. */
export const GUIDE_SAMPLES = [
	"ops/container/.dockerignore",
	"ops/container/Containerfile",
	"ops/container/README.md",
	"ops/container/compose.yaml",
	"ops/grafana/ringback.json",
	"ops/prometheus/database.rules.yml",
	"ops/prometheus/prometheus.yml",
	"ops/prometheus/ringback.rules.yml",
	"ops/proxy/Caddyfile",
	"ops/proxy/haproxy.cfg",
	"ops/proxy/nginx.conf",
] as const;

export function readGuide({ file }: GuideFile): string {
	return readShippedFile(file);
}
